"use strict";
// A panel in which columns of a row are changed, and the model of the page answers.
function whatIfPanel(store, place, tools) {
  const { element, significant, signed, decimals, barsFor } = tools;
  const { columns, classes, interval } = store;
  const model = localModel.read(store.model);
  const numbers = model.classes === 0;
  const SHOWN = 10;
  const DAY = 86400000;
  const WAIT = 500;
  let row = null;
  let cells = [];
  let before = null;
  let order = [];
  let all = false;
  let part = 0;
  let waiting = 0;
  let lines = [];

  const title = document.getElementById("what-if-title");
  const body = element("tbody");
  const verdict = element("p", { class: "verdict" });
  const chances = element("div", { class: "scroll" });
  const locals = element("div", { class: "scroll" });
  const spoken = element("p", { class: "spoken", role: "status" });
  const told = element("p", { class: "found", role: "status" });
  const sum = element("td", { class: "num" });
  const caption = element("caption");
  const more = element("button", { type: "button", "aria-expanded": "false" });
  const reset = element("button", { type: "button", id: "what-if-reset" }, "Reset");
  const flip = element("button", { type: "button", id: "what-if-flip" },
    numbers ? "Smallest change that gets there" : "Smallest change that flips it");
  const goal = element("input", { type: "number", id: "what-if-goal", step: "any" });
  const chooser = element("select", { id: "what-if-class" });

  function percent(share) {
    return `${(100 * share).toFixed(1)}%`;
  }

  function isDate(column) {
    return column.kind === "date" && Math.abs(column.low) < 7e5 && Math.abs(column.high) < 2.9e6;
  }

  function dateText(column, days) {
    const made = new Date(Math.round(days * DAY));
    if (Number.isNaN(made.getTime())) return "";
    return made.toISOString().slice(0, column.whole ? 10 : 16);
  }

  function shownValue(column, value) {
    if (value === null) return "missing";
    if (column.kind === "category") {
      return value < column.levels.length ? column.levels[value] : "another level";
    }
    if (column.kind === "boolean") return value ? "true" : "false";
    return isDate(column) ? dateText(column, value).replace("T", " ") : significant(value);
  }

  // Controls: each calls change with a value, and has a function that shows one.
  function levelControl(column, name, change) {
    const select = element("select", { "aria-label": name });
    const known = column.kind === "boolean" ? ["false", "true"] : column.levels;
    known.forEach((level, code) => select.append(element("option", { value: code }, level)));
    if (typeof column.other === "number") {
      select.append(element("option", { value: column.other }, "another level"));
    }
    select.addEventListener("change", () => change(Number(select.value)));
    return [[select], (value) => { select.value = String(value); }];
  }

  function dateControl(column, name, change) {
    const input = element("input", {
      type: column.whole ? "date" : "datetime-local", "aria-label": name,
      min: dateText(column, column.low), max: dateText(column, column.high),
    });
    input.addEventListener("input", () => {
      const stamp = Date.parse(column.whole ? input.value : `${input.value}Z`);
      if (!Number.isNaN(stamp)) change(stamp / DAY);
    });
    return [[input], (value) => { input.value = dateText(column, value); }];
  }

  function numberControl(column, name, change) {
    const limits = { min: column.low, max: column.high, step: column.whole ? 1 : "any" };
    const slider = element("input", { type: "range", "aria-label": name, ...limits });
    const exact = element("input",
      { type: "number", "aria-label": `${name}, as a number`, ...limits });
    // Few digits, but within the range.
    const short = (value, digits) => {
      const made = column.whole ? value : Number(value.toPrecision(digits));
      return made >= column.low && made <= column.high ? made : value;
    };
    const show = (value) => {
      slider.value = String(value);
      exact.value = String(short(value, 7));
    };
    slider.addEventListener("input", () => {
      const value = short(Number(slider.value), 4);
      exact.value = String(value);
      change(value);
    });
    exact.addEventListener("input", () => {
      if (exact.value === "" || !exact.checkValidity()) return;
      slider.value = exact.value;
      change(Number(exact.value));
    });
    return [column.low < column.high ? [slider, exact] : [exact], show];
  }

  function controlFor(column) {
    if (column.kind === "category" || column.kind === "boolean") return levelControl;
    return isDate(column) ? dateControl : numberControl;
  }

  function lineFor(j) {
    const column = columns[j];
    const change = (value) => {
      cells[j] = value;
      answer();
    };
    const [inputs, show] = controlFor(column)(column, column.name, change);
    const group = element("div", { class: "control" }, ...inputs);
    const start = row[j] === null ? column.tried[Math.floor(column.tried.length / 2)] : row[j];
    const gap = element("input", { type: "checkbox" });
    if (column.missing || row[j] === null) {
      group.append(element("label", {}, gap, " missing"));
      gap.setAttribute("aria-label", `${column.name} is missing`);
    }
    let last = start;
    gap.addEventListener("change", () => {
      if (gap.checked) last = cells[j];
      change(gap.checked ? null : last);
      put(cells[j]);
    });
    function put(value) {
      gap.checked = value === null;
      for (const input of inputs) input.disabled = value === null;
      show(value === null ? last : value);
    }
    put(cells[j]);
    const was = element("span", { class: "was" });
    const bar = element("td", { class: "bar two", "aria-hidden": "true" });
    const adds = element("td", { class: "num" });
    const made = element("tr", {},
      element("th", { scope: "row" }, column.name, was), element("td", {}, group), bar, adds);
    return { j, made, put, was, bar, adds };
  }

  function contributions(found) {
    const place = found.scores.length === 1 ? 0 : part;
    const sign = !numbers && found.scores.length === 1 && part === 0 ? -1 : 1;
    return {
      parts: found.contributions[place].map((one) => sign * one),
      bias: sign * found.bias[place],
      score: sign * found.scores[place],
    };
  }

  function drawReasons(found) {
    const { parts, bias, score } = contributions(found);
    const rest = order.filter((j) => !lines.some((line) => line.j === j));
    const others = rest.reduce((total, j) => total + parts[j], 0);
    const shown = [...lines.map((line) => parts[line.j]), others, bias];
    const bar = barsFor(shown);
    const places = decimals([...shown, score]);
    for (const line of lines) {
      const { j } = line;
      const made = bar(parts[j]);
      line.bar.replaceWith(made);
      line.bar = made;
      line.adds.textContent = signed(parts[j], places);
      const changed = cells[j] !== row[j];
      line.made.classList.toggle("changed", changed);
      line.was.textContent = changed ? `was ${shownValue(columns[j], row[j])}` : "";
    }
    body.querySelectorAll(".fixed").forEach((old) => old.remove());
    const fixed = (name, value) => element("tr", { class: "fixed" },
      element("th", { scope: "row", colspan: "2" }, name), bar(value),
      element("td", { class: "num" }, signed(value, places)));
    if (rest.length) {
      const noun = rest.length === 1 ? "column" : "columns";
      body.append(fixed(`${rest.length} other ${noun}`, others));
    }
    body.append(fixed("bias of the local models", bias));
    sum.textContent = signed(score, places);
    sum.dataset.score = String(score);
    caption.textContent = numbers ? "What each column adds to the prediction"
      : `What each column adds to the score of ${classes[part]}`;
  }

  // The interval of a prediction, or an empty text.
  function within(value) {
    if (!interval) return "";
    const [share, below, above] = interval;
    return `${percent(share)} interval ${significant(value + below)} to ` +
      significant(value + above);
  }

  function drawNumber(found) {
    const line = (name, value) => element("tr", {}, element("th", { scope: "row" }, name),
      element("td", { class: "num" }, significant(value)),
      element("td", {}, within(value)));
    chances.replaceChildren(element("table", { class: "terms" },
      element("caption", {}, "Prediction"),
      element("tbody", {}, line("as changed", found.scores[0]),
        line("unchanged", before.scores[0]))));
  }

  function drawChances(found) {
    if (numbers) {
      drawNumber(found);
      return;
    }
    const values = found.probabilities ||
      (found.scores.length === 1 ? [-found.scores[0], found.scores[0]] : found.scores);
    const old = before.probabilities;
    const top = values.map((_, c) => c).sort((a, b) => values[b] - values[a]).slice(0, 5);
    const places = decimals(values);
    const scaled = barsFor(top.map((c) => values[c]));
    const made = element("tbody");
    for (const c of top) {
      let bar;
      if (old) {
        const fill = element("i");
        fill.style.width = percent(values[c]);
        const mark = element("b");
        mark.style.left = percent(old[c]);
        bar = element("td", { class: "bar", "aria-hidden": "true" },
          element("div", { class: "chance" }, fill, mark));
      } else bar = scaled(values[c]);
      made.append(element("tr", {}, element("th", { scope: "row" }, classes[c]), bar,
        element("td", { class: "num" }, old ? percent(values[c]) : signed(values[c], places))));
    }
    const name = old ? "Probabilities; marks show the unchanged row" : "Scores";
    chances.replaceChildren(
      element("table", { class: "terms" }, element("caption", {}, name), made));
  }

  function drawLocals(found) {
    const top = found.locals.slice(0, 5);
    const made = element("tbody");
    for (const [number, weight] of top) {
      const fill = element("i");
      fill.style.width = percent(weight / top[0][1]);
      made.append(element("tr", {}, element("th", { scope: "row" }, String(number)),
        element("td", { class: "bar", "aria-hidden": "true" }, fill),
        element("td", { class: "num" }, percent(weight))));
    }
    const rest = found.locals.length - top.length;
    const name = "Local models that answer" +
      (rest > 0 ? `, the first ${top.length} of ${found.locals.length}` : "");
    locals.replaceChildren(
      element("table", { class: "terms" }, element("caption", {}, name), made));
  }

  function numberVerdict(found) {
    const moved = found.scores[0] - before.scores[0];
    const end = moved === 0 ? "" : `, ${significant(Math.abs(moved))} ` +
      `${moved > 0 ? "more" : "less"} than before`;
    verdict.replaceChildren("Predicted: ", element("b", {}, significant(found.scores[0])), end);
    verdict.classList.toggle("flipped", moved !== 0);
    place.dataset.predicted = significant(found.scores[0]);
  }

  function classVerdict(found) {
    const flipped = found.winner !== before.winner;
    const end = flipped ? `, not ${classes[before.winner]} as before` : "";
    verdict.replaceChildren("Predicted: ", element("b", {}, verdictText(found)), end);
    verdict.classList.toggle("flipped", flipped);
    place.dataset.predicted = classes[found.winner];
  }

  function verdictText(found) {
    const chance = found.probabilities
      ? `, probability ${percent(found.probabilities[found.winner])}` : "";
    return `${classes[found.winner]}${chance}`;
  }

  function answer() {
    const found = localModel.ask(model, cells);
    drawReasons(found);
    drawChances(found);
    drawLocals(found);
    if (numbers) numberVerdict(found);
    else classVerdict(found);
    reset.disabled = cells.every((value, j) => value === row[j]);
    clearTimeout(waiting);
    waiting = setTimeout(() => { spoken.textContent = verdict.textContent; }, WAIT);
  }

  function drawLines() {
    const wanted = all ? order : order.filter((j, p) => p < SHOWN || cells[j] !== row[j]);
    lines = wanted.map(lineFor);
    body.replaceChildren(...lines.map((line) => line.made));
    more.hidden = order.length <= SHOWN;
    more.textContent = all ? "Fewer columns" : `All ${order.length} columns`;
    more.setAttribute("aria-expanded", String(all));
    answer();
  }

  // A number is reached where what is above it becomes what is below, or the reverse.
  function askedForGoal(wanted) {
    if (!numbers) return localModel.ask;
    return (given, values) => {
      const found = localModel.ask(given, values);
      const above = found.scores[0] - wanted;
      return { ...found, scores: [above], winner: Number(above >= 0) };
    };
  }

  function search() {
    const wanted = Number(goal.value);
    if (numbers && (goal.value === "" || !Number.isFinite(wanted))) {
      told.textContent = "Which prediction is wanted? Write a number first.";
      return;
    }
    const result = smallestFlip(model, columns, row, askedForGoal(wanted));
    if (result === null) {
      told.textContent = "No change of one or two columns within the data was found that " +
        (numbers ? `brings the prediction to ${significant(wanted)}.` : "changes the decision.");
      return;
    }
    cells = row.slice();
    const parts = [];
    for (const { column, to } of result.changes) {
      cells[column] = to;
      const about = columns[column];
      if (parts.length) parts.push(" and ");
      parts.push(element("b", {}, about.name),
        ` from ${shownValue(about, row[column])} to `,
        element("b", {}, shownValue(about, to)));
    }
    drawLines();
    told.replaceChildren("The smallest change that was found: ", ...parts,
      `. Predicted is then ${place.dataset.predicted}.`);
  }

  more.addEventListener("click", () => {
    all = !all;
    drawLines();
  });
  reset.addEventListener("click", () => {
    cells = row.slice();
    told.textContent = "";
    drawLines();
    reset.disabled = true;
    flip.focus();
  });
  flip.addEventListener("click", () => {
    flip.disabled = true;
    told.textContent = "Searching …";
    setTimeout(() => {
      search();
      flip.disabled = false;
      flip.focus();
    }, 20);
  });
  chooser.addEventListener("change", () => {
    part = Number(chooser.value);
    answer();
  });
  classes.forEach((name, c) => chooser.append(element("option", { value: c }, name)));

  const head = element("thead", {}, element("tr", {},
    element("th", { scope: "col" }, "Column"), element("th", { scope: "col" }, "Value"),
    element("td", { "aria-hidden": "true" }),
    element("th", { scope: "col", class: "num" }, "Adds")));
  const foot = element("tfoot", {}, element("tr", {},
    element("th", { scope: "row", colspan: "3" },
      numbers ? "Sum: the prediction" : "Sum: the score"), sum));
  const aim = element("label", { for: "what-if-goal" }, "Bring the prediction to", goal);
  const choice = element("label", { for: "what-if-class" }, "Score to take apart", chooser);
  place.append(
    element("p", { class: "note" }, "Change a value, and the model, which travels inside " +
      "this page, answers. It shows what the model would predict, not what such a change " +
      "would cause in the world."),
    element("div", { class: "row" },
      element("div", {},
        element("table", { class: "terms changes" }, caption, head, body, foot), more),
      element("div", { class: "answer" }, verdict, spoken,
        element("div", { class: "controls" }, numbers ? aim : null, flip, reset), told,
        chances, locals, classes.length > 2 ? choice : null)));

  return function show(entry, number) {
    row = store.rows[number];
    cells = row.slice();
    all = false;
    before = localModel.ask(model, row);
    part = numbers ? 0 : before.winner;
    goal.value = "";
    chooser.value = String(part);
    const { parts } = contributions(before);
    order = columns.map((_, j) => j).filter((j) => columns[j] !== null);
    order.sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]));
    title.textContent = `What if row ${entry.name} were different?`;
    told.textContent = "";
    place.hidden = false;
    drawLines();
  };
}
