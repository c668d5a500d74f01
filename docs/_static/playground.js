"use strict";
// The page's first part: points that a reader draws, and the model that follows them.
(function () {
  const root = document.getElementById("points-playground");
  if (!root) return;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const canvas = part("plane"), context = canvas.getContext("2d");
  const COLOURS = [[43, 108, 163], [217, 95, 2]];
  const GRID = 80; // cells of whole pixels
  const state = { points: [], labels: [], drawn: 0, cursor: [0, 0], keyboard: false };
  let model = null;

  const css = ([r, g, b], opacity) => `rgba(${r}, ${g}, ${b}, ${opacity})`;
  const across = (x) => ((x + 1) / 2) * canvas.width;
  const down = (y) => ((1 - y) / 2) * canvas.height;
  const ink = () => getComputedStyle(root).color;

  const SHAPES = {
    moons(t, label, noise) {
      const angle = Math.PI * t;
      return label
        ? [0.25 - 0.5 * Math.cos(angle) + noise(), 0.12 - 0.55 * Math.sin(angle) + noise()]
        : [-0.25 + 0.5 * Math.cos(angle) + noise(), -0.12 + 0.55 * Math.sin(angle) + noise()];
    },
    ring(t, label, noise) {
      const radius = label ? 0.7 : 0.25;
      return [radius * Math.cos(2 * Math.PI * t) + noise(),
        radius * Math.sin(2 * Math.PI * t) + noise()];
    },
    squares(t, label, noise) {
      const right = t < 0.5 ? 1 : -1;
      return [0.45 * right + 2 * noise(), 0.45 * right * (label ? 1 : -1) + 2 * noise()];
    },
    spiral(t, label, noise) {
      const angle = 3 * Math.PI * t + (label ? Math.PI : 0), radius = 0.1 + 0.75 * t;
      return [radius * Math.cos(angle) + noise() / 2, radius * Math.sin(angle) + noise() / 2];
    },
  };

  function take(name) {
    const random = trainer.random(7);
    const noise = () => 0.16 * (random() + random() + random() - 1.5);
    state.points = [];
    state.labels = [];
    for (let i = 0; i < 120; i++) {
      state.points.push(SHAPES[name](random(), i % 2, noise));
      state.labels.push(i % 2);
    }
    learn();
  }

  function settings() {
    return {
      anchors: Number(part("anchors").value),
      sharpness: Number(part("sharpness").value),
      alpha: 10 ** Number(part("penalty").value),
    };
  }

  function learn() {
    const chosen = settings();
    part("anchors-now").textContent = chosen.anchors;
    part("sharpness-now").textContent = chosen.sharpness;
    part("penalty-now").textContent = chosen.alpha.toPrecision(1);
    model = trainer.fit(state.points, state.labels, chosen);
    draw();
    say();
  }

  function say() {
    const n = state.points.length;
    if (model === null) {
      part("said").textContent = `${n} points. Draw points of both colours.`;
      return;
    }
    const right = state.points.filter(
      (point, i) => localModel.ask(model, point).winner === state.labels[i]).length;
    const m = model.members[0].anchors.shape[0];
    part("said").textContent = `${n} points, ${m} local ${m === 1 ? "model" : "models"}, ` +
      `${Math.round((100 * right) / n)} % of the points on their side of the boundary.`;
  }

  function draw() {
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (model) {
      drawField();
      drawLines();
    }
    state.points.forEach(([x, y], i) => {
      context.beginPath();
      context.arc(across(x), down(y), 5, 0, 2 * Math.PI);
      context.fillStyle = css(COLOURS[state.labels[i]], 0.95);
      context.fill();
      context.strokeStyle = "#fff";
      context.lineWidth = 1;
      context.stroke();
    });
    if (model) drawAnchors();
    if (state.keyboard) drawCursor();
  }

  // Probabilities as colour; the boundary where the score changes its sign.
  function drawField() {
    const step = canvas.width / GRID;
    const scores = [];
    for (let r = 0; r <= GRID; r++) {
      const line = [];
      for (let c = 0; c <= GRID; c++) {
        line.push(localModel.ask(model, [(2 * c) / GRID - 1, 1 - (2 * r) / GRID]).scores[0]);
      }
      scores.push(line);
    }
    for (let r = 0; r < GRID; r++) {
      for (let c = 0; c < GRID; c++) {
        const sure = 2 / (1 + Math.exp(-Math.abs(scores[r][c]))) - 1;
        context.fillStyle = css(COLOURS[Number(scores[r][c] > 0)], 0.05 + 0.3 * sure);
        context.fillRect(c * step, r * step, step, step);
      }
    }
    context.strokeStyle = ink();
    context.lineWidth = 2.5;
    context.beginPath();
    for (let r = 0; r < GRID; r++) {
      for (let c = 0; c < GRID; c++) crossing(scores, r, c, step);
    }
    context.stroke();
  }

  // Ends of the boundary's piece within one cell.
  function crossing(scores, r, c, step) {
    const corners = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
    const ends = [];
    corners.forEach(([i, j], k) => {
      const [p, q] = corners[(k + 1) % 4];
      const a = scores[i][j], b = scores[p][q];
      if (a > 0 !== b > 0) {
        const t = a / (a - b);
        ends.push([(j + t * (q - j)) * step, (i + t * (p - i)) * step]);
      }
    });
    for (let k = 0; k + 1 < ends.length; k += 2) {
      context.moveTo(...ends[k]);
      context.lineTo(...ends[k + 1]);
    }
  }

  // Where each local model says zero, near its anchor.
  function drawLines() {
    const [member] = model.members;
    const reach = 1.3 / member.bandwidth[0];
    context.lineWidth = 1.2;
    context.strokeStyle = ink();
    context.setLineDash([5, 4]);
    for (let j = 0; j < member.anchors.shape[0]; j++) {
      const [u, v] = [member.coef[2 * j], member.coef[2 * j + 1]];
      const length = Math.hypot(u, v);
      const [x, y] = [member.anchors[2 * j], member.anchors[2 * j + 1]];
      const gap = (u * x + v * y + member.intercept[j]) / length;
      if (!(length > 0) || Math.abs(gap) >= reach) continue;
      const half = Math.sqrt(reach * reach - gap * gap);
      const foot = [x - (gap * u) / length, y - (gap * v) / length];
      const along = [(-v / length) * half, (u / length) * half];
      context.beginPath();
      context.moveTo(across(foot[0] - along[0]), down(foot[1] - along[1]));
      context.lineTo(across(foot[0] + along[0]), down(foot[1] + along[1]));
      context.stroke();
    }
    context.setLineDash([]);
  }

  function drawAnchors() {
    const { anchors } = model.members[0];
    for (let j = 0; j < anchors.shape[0]; j++) star(anchors[2 * j], anchors[2 * j + 1], 9);
  }

  function star(x, y, size) {
    context.beginPath();
    for (let k = 0; k < 10; k++) {
      const angle = (Math.PI * k) / 5 - Math.PI / 2, radius = k % 2 ? size / 2.4 : size;
      context.lineTo(across(x) + radius * Math.cos(angle), down(y) + radius * Math.sin(angle));
    }
    context.closePath();
    context.fillStyle = "#f5c518";
    context.fill();
    context.strokeStyle = "#222";
    context.lineWidth = 1;
    context.stroke();
  }

  function drawCursor() {
    const [x, y] = state.cursor;
    context.strokeStyle = ink();
    context.lineWidth = 1.5;
    context.strokeRect(across(x) - 8, down(y) - 8, 16, 16);
  }

  // Whose word counts here, and the linear function that comes of it.
  function look(x, y) {
    if (model === null) return;
    draw();
    const told = localModel.ask(model, [x, y]);
    const { anchors } = model.members[0];
    for (const [j, g] of told.locals) {
      context.beginPath();
      context.moveTo(across(x), down(y));
      context.lineTo(across(anchors[2 * j]), down(anchors[2 * j + 1]));
      context.lineWidth = 1 + 7 * g;
      context.strokeStyle = "rgba(245, 197, 24, 0.75)";
      context.stroke();
    }
    drawAnchors();
    const { coef, intercept } = trainer.weights(model, told.locals);
    const signed = (value) => `${value < 0 ? "−" : "+"} ${Math.abs(value).toFixed(2)}`;
    part("here").textContent = `at (${x.toFixed(2)}, ${y.toFixed(2)}): score = ` +
      `${coef[0][0].toFixed(2)} · x ${signed(coef[0][1])} · y ${signed(intercept[0])}` +
      ` = ${told.scores[0].toFixed(2)}, orange with ${Math.round(100 * told.probabilities[1])} %; ` +
      `${told.locals.length} of ${anchors.shape[0]} local models used`;
  }

  function add(x, y) {
    state.points.push([x, y]);
    state.labels.push(Number(root.querySelector("input[name=colour]:checked").value));
    learn();
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [(2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height];
  }

  canvas.addEventListener("pointerdown", (event) => {
    state.keyboard = false;
    add(...place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = place(event);
    const now = performance.now();
    if (event.buttons & 1 && now - state.drawn > 60) {
      state.drawn = now;
      add(...here);
    }
    look(...here);
  });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const move = moves[event.key];
    if (!move && event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    state.keyboard = true;
    if (move) {
      state.cursor = state.cursor.map((value, i) =>
        Math.min(Math.max(value + 0.05 * move[i], -1), 1));
    } else add(...state.cursor);
    draw();
    look(...state.cursor);
  });
  for (const name of ["anchors", "sharpness", "penalty"]) {
    part(name).addEventListener("input", learn);
  }
  for (const button of root.querySelectorAll("[data-shape]")) {
    button.addEventListener("click", () => take(button.dataset.shape));
  }
  part("clear").addEventListener("click", () => {
    state.points = [];
    state.labels = [];
    learn();
  });
  new MutationObserver(draw).observe(document.documentElement, { attributes: true });
  take("moons");
})();
