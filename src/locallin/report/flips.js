"use strict";
// The smallest change of one column, or of two, that changes what a model decides.
const smallestFlip = (function () {
  const COLUMNS_IN_PAIRS = 8;
  const VALUES_IN_PAIRS = 10;
  const MOST_PAIRS = 3000;

  function isNumber(column) {
    return column.kind === "number" || column.kind === "date";
  }

  // Numbers in standard deviations; any other change counts as one.
  function size(column, from, to) {
    if (!isNumber(column) || from === null) return from === to ? 0 : 1;
    return Math.abs(to - from) / column.spread;
  }

  function lead(answer, own) {
    const scores = answer.scores;
    if (scores.length === 1) return own === 1 ? scores[0] : -scores[0];
    return scores[own] - Math.max(...scores.filter((_, c) => c !== own));
  }

  function found(model, columns, row, ask) {
    const before = ask(model, row);
    const own = before.winner;
    const moved = (changes) => {
      const cells = row.slice();
      for (const one of changes) cells[one.column] = one.to;
      return cells;
    };
    const flips = (changes) => ask(model, moved(changes)).winner !== own;
    const total = (changes) =>
      changes.reduce((sum, one) => sum + size(columns[one.column], row[one.column], one.to), 0);

    // Between a value that changes the decision and the row's own, the nearest.
    function nearer(changes, place) {
      const { column, to } = changes[place];
      const from = row[column];
      const about = columns[column];
      if (!isNumber(about) || from === null) return changes;
      const at = (value) =>
        changes.map((one, p) => (p === place ? { column, to: value } : one));
      let near = from, far = to;
      for (let step = 0; step < 30; step++) {
        let middle = (near + far) / 2;
        if (about.whole) middle = far > near ? Math.floor(middle) : Math.ceil(middle);
        if (middle === near || middle === far) break;
        if (flips(at(middle))) far = middle;
        else near = middle;
      }
      return at(about.whole ? far : rounded(far, about, (value) => flips(at(value))));
    }

    // Few digits where they change the decision, too.
    function rounded(value, about, works) {
      const unit = 10 ** (Math.floor(Math.log10(about.spread)) - 2);
      for (const round of [Math.floor, Math.ceil]) {
        const short = Number((round(value / unit) * unit).toPrecision(12));
        if (short >= about.low && short <= about.high && works(short)) return short;
      }
      return value;
    }

    const tried = [];
    columns.forEach((about, column) => {
      if (about === null) return;
      for (const to of about.tried) {
        if (to === row[column]) continue;
        const answer = ask(model, moved([{ column, to }]));
        const gain = lead(before, own) - lead(answer, own);
        tried.push({ column, to, gain, flips: answer.winner !== own });
      }
    });
    let best = null;
    function offer(changes) {
      let refined = changes;
      for (let place = 0; place < changes.length; place++) refined = nearer(refined, place);
      const far = total(refined);
      if (best === null || far < best.size) best = { changes: refined, size: far };
    }
    for (const one of tried) {
      if (one.flips) offer([{ column: one.column, to: one.to }]);
    }
    if (best !== null && best.size <= 1) return best;
    for (const changes of pairs(tried, total)) {
      if (best !== null && total(changes) >= best.size) break;
      if (flips(changes)) {
        offer(changes);
        break;
      }
    }
    return best;
  }

  // Pairs of changes that help most, the smallest first.
  function pairs(tried, total) {
    const byColumn = new Map();
    for (const one of tried.filter((each) => each.gain > 0)) {
      if (!byColumn.has(one.column)) byColumn.set(one.column, []);
      byColumn.get(one.column).push(one);
    }
    const most = [...byColumn.values()].map((ones) =>
      ones.sort((a, b) => b.gain - a.gain).slice(0, VALUES_IN_PAIRS));
    most.sort((a, b) => b[0].gain - a[0].gain);
    const made = [];
    most.slice(0, COLUMNS_IN_PAIRS).forEach((first, i, all) => {
      for (const second of all.slice(i + 1)) {
        for (const a of first) for (const b of second) made.push([a, b]);
      }
    });
    const sized = made.map((pair) => [total(pair), pair]);
    sized.sort((a, b) => a[0] - b[0]);
    return sized.slice(0, MOST_PAIRS).map(([, pair]) =>
      pair.map(({ column, to }) => ({ column, to })));
  }

  return found;
})();
