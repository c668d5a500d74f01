"use strict";
// The model of the page: a row in numbers in, scores, probabilities and reasons out.
const localModel = (function () {
  const [LEFT, SLOPE, START, LOW, HIGH, MISSING] = [0, 1, 2, 3, 4, 5];

  function unpacked(value) {
    if (Array.isArray(value)) {
      return value.some((part) => typeof part === "object") ? value.map(unpacked) : value;
    }
    if (value === null || typeof value !== "object") return value;
    if (value.shape) {
      const text = atob(value.f4 === undefined ? value.f8 : value.f4);
      const raw = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
      const Kind = value.f4 === undefined ? Float64Array : Float32Array;
      const data = new Kind(raw.buffer);
      data.shape = value.shape;
      return data;
    }
    const made = {};
    for (const [name, part] of Object.entries(value)) made[name] = unpacked(part);
    return made;
  }

  // Component t is a clipped line of the value that it is made of.
  function line(table, n, t, value) {
    if (Number.isNaN(value)) return table[MISSING * n + t];
    const made = (value - table[LEFT * n + t]) * table[SLOPE * n + t] + table[START * n + t];
    return Math.min(Math.max(made, table[LOW * n + t]), table[HIGH * n + t]);
  }

  const STEPS = {
    affine(step, row) {
      return row.map((value, i) => (value - step.shift[i]) * step.factor[i]);
    },

    lines(step, row) {
      const n = step.origins.length;
      return Float64Array.from(step.origins, (origin, t) => line(step.table, n, t, row[origin]));
    },

    table(step, row) {
      const out = step.single ? new Float32Array(step.size) : new Float64Array(step.size);
      const sources = step.sources.map(([column, period, shift]) =>
        period > 0 ? Math.sin(2 * Math.PI * (row[column] / period + shift)) : row[column]);
      const n = step.origins.length;
      for (let t = 0; t < n; t++) {
        let made = line(step.table, n, t, sources[step.origins[t]]);
        if (step.bent[t]) made /= Math.sqrt(1 + (made / step.smooth) ** 2);
        out[step.places[t]] = made;
      }
      for (const levels of step.levels) writeLevel(levels, row[levels.column], out);
      return Float64Array.from(out);
    },
  };

  function writeLevel(levels, value, out) {
    const missing = Number.isNaN(value);
    let code = value;
    if (levels.weekdays) code = (((Math.floor(value) + 3) % 7) + 7) % 7;
    const nMeans = levels.means.shape[1];
    if (!missing && code < levels.names) {
      for (let t = 0; t < nMeans; t++) out[levels.firstMean + t] = levels.means[code * nMeans + t];
    }
    let spot = -1;
    if (missing) spot = levels.missing ? levels.units.length - 1 : -1;
    else if (levels.kept > 0 || levels.pools) {
      spot = code < levels.kept ? code : levels.pools ? levels.kept : -1;
    }
    if (spot >= 0) out[levels.start + spot] = levels.units[spot];
  }

  function throughMetric(metric, row) {
    if (metric === null) return row;
    if (metric.shape.length === 1) return row.map((value, i) => value * metric[i]);
    const [n, size] = metric.shape;
    const out = new Float64Array(n);
    for (let k = 0; k < n; k++) {
      let total = 0;
      for (let i = 0; i < size; i++) total += metric[k * size + i] * row[i];
      out[k] = total;
    }
    return out;
  }

  function distances(anchors, row) {
    const [m, size] = anchors.shape;
    const out = new Float64Array(m);
    for (let j = 0; j < m; j++) {
      let total = 0;
      for (let i = 0; i < size; i++) {
        const gap = row[i] - anchors[j * size + i];
        total += gap * gap;
      }
      out[j] = Math.sqrt(total);
    }
    return out;
  }

  // Each weighs keys that ascend; weights are made to add up to one afterwards.
  const CODINGS = {
    // The level is the root of sum (level - u)+^2 = 1, anchor by anchor.
    adaptive(keys) {
      const gaps = keys.map((key) => key - keys[0]);
      let level = 1, k = 0, total = 0, squares = 0;
      while (k < gaps.length && gaps[k] < level) {
        total += gaps[k];
        squares += gaps[k] * gaps[k];
        k += 1;
        level = (total + Math.sqrt(Math.max(k + total * total - k * squares, 0))) / k;
      }
      return gaps.slice(0, k).map((gap) => level - gap);
    },

    soft(keys) {
      return keys.map((key) => Math.exp(-(key - keys[0]) * (key + keys[0])));
    },

    inverse(keys) {
      return keys.map((key) => (keys[0] > 0 ? keys[0] / key : key === 0 ? 1 : 0));
    },
  };

  // The anchors that a row looks at: all, or those of its nearest groups.
  function inSight(member, place) {
    const anchors = Array.from({ length: member.anchors.shape[0] }, (_, j) => j);
    if (member.groups === null) return anchors;
    const { centers, ofAnchor, probes } = member.groups;
    const least = member.coding === "adaptive" ? 1 : member.neighbors;
    const far = distances(centers, place);
    const nearest = Array.from(far, (_, g) => g).sort((a, b) => far[a] - far[b]);
    const seen = [];
    for (let p = 0; p < nearest.length && (p < probes || seen.length < least); p++) {
      seen.push(...anchors.filter((j) => ofAnchor[j] === nearest[p]));
    }
    return seen;
  }

  // Anchors with their weights, the heaviest first.
  function weights(member, row) {
    const place = throughMetric(member.metric, row);
    const far = distances(member.anchors, place);
    const order = inSight(member, place);
    const bandwidth = (j) => member.bandwidth[member.bandwidth.length > 1 ? j : 0];
    const price = {
      adaptive: (j) => bandwidth(j) * far[j],
      soft: (j) => Math.sqrt(bandwidth(j)) * far[j],
      inverse: (j) => far[j],
    }[member.coding];
    // The nearest anchors are those by distance, also where each has a price.
    const nearest = order.sort((a, b) => far[a] - far[b]).slice(0, member.neighbors);
    const chosen = nearest.map((j) => [j, price(j)]).sort((a, b) => a[1] - b[1]);
    const found = CODINGS[member.coding](chosen.map((pair) => pair[1]));
    const total = found.reduce((sum, one) => sum + one, 0);
    return found.map((one, p) => [chosen[p][0], one / total]);
  }

  function addMember(model, member, features, into) {
    const mapped = member.map === null ? features : STEPS.lines(member.map, features);
    const codes = weights(member, member.mapped ? mapped : features);
    const [m, nScores, size] = member.coef.shape;
    for (const [j, weight] of codes) {
      const share = weight * model.factor;
      for (let c = 0; c < nScores; c++) {
        into.bias[c] += share * member.intercept[j * nScores + c];
        const start = (j * nScores + c) * size;
        const parts = into.contributions[c];
        for (let i = 0; i < size; i++) {
          parts[member.origins[i]] += share * member.coef[start + i] * mapped[i];
        }
      }
      into.locals.push([into.before + j, weight / model.members.length]);
    }
    into.before += m;
  }

  function probabilities(link, scores) {
    if (link === null) return null;
    const offset = link.offset;
    const logistic = (value) => 1 / (1 + Math.exp(-value));
    if (scores.length === 1) {
      const second = logistic(link.scale * scores[0] + offset[1] - offset[0]);
      return [1 - second, second];
    }
    let shares;
    if (link.kind === "multinomial") {
      const logits = scores.map((score, c) => link.scale * score + offset[c]);
      const most = Math.max(...logits);
      shares = logits.map((logit) => Math.exp(logit - most));
    } else {
      const most = Math.max(...offset);
      shares = scores.map((score, c) =>
        logistic(link.scale * score) * Math.exp(offset[c] - most));
    }
    const total = shares.reduce((sum, share) => sum + share, 0);
    return shares.map((share) => (total > 0 ? share / total : 1 / shares.length));
  }

  // Scores (one for two classes, or what a regressor predicts), probabilities or null, what each column adds to
  // each score, biases, and the local models with their weights.
  function asked(model, row) {
    let features = Float64Array.from(row, (value) => (value === null ? NaN : value));
    for (const step of model.steps) features = STEPS[step.kind](step, features);
    const nScores = model.scores;
    const found = {
      bias: new Array(nScores).fill(0),
      contributions: Array.from({ length: nScores }, () => new Array(model.columns).fill(0)),
      locals: [],
      before: 0,
    };
    for (const member of model.members) addMember(model, member, features, found);
    const scores = found.contributions.map((parts, c) =>
      parts.reduce((sum, part) => sum + part, found.bias[c]));
    const winner = scores.length === 1
      ? Number(scores[0] > 0) : scores.indexOf(Math.max(...scores));
    return {
      scores,
      winner,
      probabilities: probabilities(model.link, scores),
      contributions: found.contributions,
      bias: found.bias,
      locals: found.locals.sort((a, b) => b[1] - a[1]),
    };
  }

  return { read: unpacked, ask: asked };
})();
