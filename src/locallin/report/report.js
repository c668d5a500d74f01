"use strict";
(function () {
  const store = document.getElementById("explanations");
  if (!store) return;
  const { rows, side, noChanges, numbers, whatIf } = JSON.parse(store.textContent);
  const panel = document.getElementById("row");
  const select = document.getElementById("choose-row");
  const places = rows.map((_, i) => i);
  const by = (size) => places.slice().sort((a, b) => size(rows[b]) - size(rows[a]));
  const picks = numbers ? {
    high: by((row) => row.value),
    low: by((row) => -row.value),
    off: by((row) => Math.abs(row.error)).filter((i) => rows[i].error !== null),
  } : {
    clear: by((row) => row.margin),
    narrow: by((row) => -row.margin),
    wrong: by((row) => row.margin).filter((i) => rows[i].wrong),
  };
  let shown = 0;
  let view = 0;
  let lastPick = { name: "", step: 0 };

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  function significant(value) {
    if (typeof value !== "number") return String(value);
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e15 || size < 1e-4) return value.toExponential(3);
    const short = size < 9999.5 ? Number(value.toPrecision(4)) : Math.round(value);
    return String(short).replace("-", "\u2212");
  }

  function decimals(values) {
    const largest = Math.max(...values.map(Math.abs));
    if (!(largest > 0)) return 3;
    return Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(largest))));
  }

  function signed(value, places) {
    const text = Math.abs(value).toFixed(places);
    if (Number(text) === 0) return text;
    return (value < 0 ? "\u2212" : "+") + text;
  }

  function barsFor(values) {
    const low = Math.min(0, ...values);
    const span = Math.max(0, ...values) - low || 1;
    return (value) => {
      const fill = element("b", { class: value < 0 ? "minus" : "plus" });
      fill.style.width = `${(100 * Math.abs(value)) / span}%`;
      const cell = element("td", { class: "bar two", "aria-hidden": "true" });
      cell.style.setProperty("--zero", `${(-100 * low) / span}%`);
      cell.append(element("i", {}, fill));
      return cell;
    };
  }

  function termsTable(one) {
    const lines = one.terms.slice();
    if (one.others) {
      const [count, part] = one.others;
      lines.push([`${count} other column${count === 1 ? "" : "s"}`, "", part]);
    }
    lines.push(["bias of the local models", "", one.bias]);
    const parts = lines.map((line) => line[2]);
    const bar = barsFor(parts);
    const places = decimals([...parts, one.score]);
    const body = element("tbody");
    for (const [name, value, part] of lines) {
      body.append(
        element("tr", {},
          element("th", { scope: "row" }, name),
          element("td", { class: "value" }, significant(value)),
          bar(part),
          element("td", { class: "num" }, signed(part, places))));
    }
    const head = element("thead", {}, element("tr", {},
      element("th", { scope: "col" }, "Column"),
      element("th", { scope: "col", class: "num" }, "Value"),
      element("td", { "aria-hidden": "true" }),
      element("th", { scope: "col", class: "num" }, "Adds")));
    const foot = element("tfoot", {}, element("tr", {},
      element("th", { scope: "row", colspan: "3" }, "Sum: the " + lowered(one.name)),
      element("td", { class: "num", id: "score" }, signed(one.score, places))));
    const caption = element("caption", {}, one.name + ": what each column adds");
    return element("table", { class: "terms" }, caption, head, body, foot);
  }

  function lowered(text) {
    return text.charAt(0).toLowerCase() + text.slice(1).replace(/, [^,]*$/, "");
  }

  function scoresTable(row) {
    if (row.views.length < 2) return null;
    const places = decimals(row.scores.map((entry) => entry.score));
    const bar = barsFor(row.scores.map((entry) => entry.score));
    const body = element("tbody");
    for (const entry of row.scores) {
      body.append(
        element("tr", {},
          element("th", { scope: "row" }, entry.class),
          bar(entry.score),
          element("td", { class: "num" }, signed(entry.score, places))));
    }
    const caption = element("caption", {}, "Highest scores");
    return element("table", { class: "terms" }, caption, body);
  }

  function bytes(text, Kind) {
    const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Kind(raw.buffer);
  }

  function picture(values, paint, kind, name) {
    const canvas = element("canvas", {
      width: side, height: side, class: kind, role: "img", "aria-label": name,
    });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(side, side);
    values.forEach((value, i) => pixels.data.set(paint(value), 4 * i));
    context.putImageData(pixels, 0, 0);
    return element("figure", {}, canvas, element("figcaption", {}, name));
  }

  function pictures(row, one) {
    if (!side) return null;
    const shade = (value) => [0, 0, 0, value];
    const sign = (value) =>
      value < 0 ? [208, 98, 27, -2 * value] : [52, 126, 190, 2 * value];
    return element("div", { class: "pictures" },
      picture(bytes(row.image, Uint8Array), shade, "shades", "The row"),
      picture(bytes(one.weights, Int8Array), sign, "signs", "Weights"),
      picture(bytes(one.parts, Int8Array), sign, "signs", "Contributions"));
  }

  function changeText(row) {
    if (noChanges || numbers) return null;
    const change = row.change;
    if (!change) {
      const text = "No change of a single column would turn the decision of the local model.";
      return element("p", { class: "change" }, text);
    }
    const follows = change.reached === row.predicted
      ? `the whole model, asked there, stays at ${row.predicted}`
      : `the whole model, asked there, says ${change.reached}`;
    const units = change.given_units ? "" : ", as the classifier is given it,";
    const size = change.counted
      ? ` (${significant(change.size)} standard deviations)` : "";
    const far = change.counted && change.size > 3
      ? " So large a change leads out of the data: no single column decides this row."
      : "";
    return element("p", { class: "change" },
      "With ", element("b", {}, change.feature), units,
      ` changed from ${significant(change.from)} to `,
      element("b", {}, significant(change.to)),
      `${size} the local model would decide for `,
      element("b", {}, change.target), `; ${follows}.${far}`);
  }

  function heading(row) {
    const title = element("h3", {}, `Row ${row.name}: predicted ${row.predicted}`);
    if (row.label !== null && numbers) {
      title.append(" ", element("span", { class: "badge" }, `true value ${row.label}`));
    } else if (row.label !== null) {
      const kind = row.wrong ? "badge wrong" : "badge";
      const text = row.wrong ? `wrong, the label is ${row.label}` : "right";
      title.append(" ", element("span", { class: kind }, text));
    }
    return title;
  }

  function summary(row) {
    if (numbers) {
      if (row.error === null) return null;
      const side = row.error < 0 ? "above" : "below";
      const off = significant(Math.abs(row.error));
      return element("p", { class: "quiet" }, `The prediction is ${off} ${side} the true value.`);
    }
    const said = [];
    if ("probability" in row) {
      said.push(`Probability of ${row.predicted}: ${(100 * row.probability).toFixed(1)}%.`);
    }
    if (row.views.length > 1) {
      said.push(`The runner-up is ${row.runner_up}, ${significant(row.margin)} behind.`);
    }
    return said.length ? element("p", { class: "quiet" }, said.join(" ")) : null;
  }

  function viewButtons(row) {
    if (row.views.length < 2) return null;
    const group = element("div",
      { class: "controls", role: "group", "aria-label": "Score to take apart" });
    row.views.forEach((one, i) => {
      const button = element("button",
        { type: "button", "aria-pressed": String(i === view) }, one.name);
      button.addEventListener("click", () => {
        view = i;
        draw();
        panel.querySelectorAll("button")[i].focus();
      });
      group.append(button);
    });
    return group;
  }

  const changes = document.getElementById("what-if");
  const showChanges = changes === null ? null : whatIfPanel(whatIf, changes,
    { element, significant, signed, decimals, barsFor });

  function draw() {
    const row = rows[shown];
    const one = row.views[view];
    panel.dataset.row = row.row;
    const reasons = element("div", {},
      summary(row), viewButtons(row), termsTable(one), changeText(row));
    const beside = element("div", {}, pictures(row, one), scoresTable(row));
    panel.classList.toggle("alone", !beside.hasChildNodes());
    panel.replaceChildren(heading(row), reasons, beside);
    select.value = String(shown);
    document.getElementById("before").disabled = shown === 0;
    document.getElementById("after").disabled = shown === rows.length - 1;
    document.getElementById("announce").textContent =
      `Row ${row.name}: predicted ${row.predicted}${row.wrong ? ", wrong" : ""}`;
  }

  function show(place, remember) {
    shown = place;
    view = 0;
    lastPick = { name: "", step: 0 };
    draw();
    if (showChanges !== null) showChanges(rows[place], place);
    if (remember) remembered(rows[place].row);
  }

  function remembered(row) {
    try {
      history.replaceState(null, "", `#row=${row}`);
    } catch {
      // A page within another one has no address of its own.
    }
  }

  function fromAddress() {
    const found = /^#row=(\d+)$/.exec(location.hash);
    return found ? rows.findIndex((row) => row.row === Number(found[1])) : -1;
  }

  rows.forEach((row, i) => {
    const end = row.wrong ? `, wrong: ${row.label}` : "";
    select.append(element("option", { value: i }, `${row.name}: ${row.predicted}${end}`));
  });
  select.addEventListener("change", () => show(Number(select.value), true));
  document.getElementById("before").addEventListener("click", () => show(shown - 1, true));
  document.getElementById("after").addEventListener("click", () => show(shown + 1, true));
  for (const button of document.querySelectorAll("button[data-pick]")) {
    const pick = picks[button.dataset.pick];
    button.disabled = pick.length === 0;
    button.addEventListener("click", () => {
      const name = button.dataset.pick;
      const step = lastPick.name === name ? (lastPick.step + 1) % pick.length : 0;
      show(pick[step], true);
      lastPick = { name, step };
    });
  }
  window.addEventListener("hashchange", () => {
    const place = fromAddress();
    if (place >= 0) show(place, false);
  });
  document.getElementById("explained").hidden = false;
  const start = fromAddress();
  const [worst, other] = numbers ? [picks.off, picks.high] : [picks.wrong, picks.narrow];
  const first = worst.length ? worst[0] : other[0];
  show(start >= 0 ? start : first, false);
})();
