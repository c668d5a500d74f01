"use strict";
// The page's second part: an image whose pixels a reader changes, and w(x).
(function () {
  const root = document.getElementById("pixels-playground");
  if (!root || typeof DIGITS === "undefined") return;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const model = localModel.read(DIGITS.model);
  const MOST = 16, SIDE = 8;
  const image = part("image"), shown = part("weights"), added = part("parts");
  let pixels = DIGITS.images[0].slice();
  let cursor = null, painting = null;

  function cells(canvas, colour) {
    const context = canvas.getContext("2d"), size = canvas.width / SIDE;
    for (let i = 0; i < SIDE * SIDE; i++) {
      context.fillStyle = colour(i);
      context.fillRect((i % SIDE) * size, Math.floor(i / SIDE) * size, size, size);
    }
  }

  const grey = (value) => {
    const shade = Math.round(255 - (255 * value) / MOST);
    return `rgb(${shade}, ${shade}, ${shade})`;
  };

  // Blue speaks for the class, red against it.
  function signed(value, most) {
    const share = most > 0 ? Math.min(Math.abs(value) / most, 1) : 0;
    const [r, g, b] = value > 0 ? [33, 102, 172] : [178, 24, 43];
    const mix = (one) => Math.round(255 + share * (one - 255));
    return `rgb(${mix(r)}, ${mix(g)}, ${mix(b)})`;
  }

  function draw() {
    const told = localModel.ask(model, pixels.map((value) => value / MOST));
    const asked = part("class").value;
    const c = asked === "winner" ? told.winner : Number(asked);
    const weights = trainer.weights(model, told.locals).coef[c];
    const parts = told.contributions[c];
    const largest = (values) => Math.max(...Array.from(values, Math.abs));
    const bounds = [largest(weights), largest(parts)];
    cells(image, (i) => grey(pixels[i]));
    cells(shown, (i) => signed(weights[i], bounds[0]));
    cells(added, (i) => signed(parts[i], bounds[1]));
    if (cursor !== null) {
      const context = image.getContext("2d"), size = image.width / SIDE;
      context.strokeStyle = "#e8a000";
      context.lineWidth = 3;
      context.strokeRect((cursor % SIDE) * size + 1.5, Math.floor(cursor / SIDE) * size + 1.5,
        size - 3, size - 3);
    }
    drawBars(told);
    const sum = parts.reduce((total, one) => total + one, 0);
    part("said").textContent = `The model says ${told.winner}, with ` +
      `${Math.round(100 * told.probabilities[told.winner])} %. Score of ${c}: ` +
      `${sum.toFixed(2)} from the pixels and ${told.bias[c].toFixed(2)} bias; ` +
      `${told.locals.length} of ${model.members[0].anchors.shape[0]} local models used.`;
  }

  function drawBars(told) {
    const bars = part("bars");
    bars.replaceChildren();
    told.probabilities.forEach((share, c) => {
      const name = document.createElement("span");
      name.textContent = c;
      const bar = document.createElement("meter");
      bar.value = share;
      bar.setAttribute("aria-label", `probability of ${c}`);
      const figure = document.createElement("span");
      figure.textContent = `${(100 * share).toFixed(1)} %`;
      bars.append(name, bar, figure);
    });
  }

  function cell(event) {
    const box = image.getBoundingClientRect();
    const at = (value, size) => Math.min(Math.max(Math.floor((SIDE * value) / size), 0), SIDE - 1);
    return SIDE * at(event.clientY - box.top, box.height) +
      at(event.clientX - box.left, box.width);
  }

  image.addEventListener("pointerdown", (event) => {
    const i = cell(event);
    painting = pixels[i] > MOST / 2 ? 0 : MOST;
    pixels[i] = painting;
    cursor = null;
    image.setPointerCapture(event.pointerId);
    draw();
  });
  image.addEventListener("pointermove", (event) => {
    if (painting === null) return;
    pixels[cell(event)] = painting;
    draw();
  });
  for (const end of ["pointerup", "pointercancel"]) {
    image.addEventListener(end, () => { painting = null; });
  }
  image.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -SIDE, ArrowDown: SIDE };
    const here = cursor === null ? 27 : cursor;
    if (moves[event.key]) {
      const next = here + moves[event.key];
      const row = (i) => Math.floor(i / SIDE);
      const stays = Math.abs(moves[event.key]) === SIDE || row(next) === row(here);
      cursor = next >= 0 && next < SIDE * SIDE && stays ? next : here;
    } else if (event.key === " " || event.key === "Enter") {
      cursor = here;
      pixels[here] = pixels[here] > MOST / 2 ? 0 : MOST;
    } else return;
    event.preventDefault();
    draw();
  });
  DIGITS.labels.forEach((label, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", () => {
      pixels = DIGITS.images[i].slice();
      draw();
    });
    part("examples").append(button);
    const option = document.createElement("option");
    option.value = option.textContent = i;
    part("class").append(option);
  });
  part("blank").addEventListener("click", () => {
    pixels = new Array(SIDE * SIDE).fill(0);
    draw();
  });
  part("class").addEventListener("change", draw);
  draw();
})();
