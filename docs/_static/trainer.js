"use strict";
// Points in the plane in, a locally linear model out, as localModel reads it: anchors by
// k-means, adaptive coordinates, and a convex problem for the local models.
const trainer = (function () {
  // Weights are penalised in this unit of the plane: local models bend where they are,
  // rather than far away.
  const UNIT = 0.2;

  // Numbers that look random, the same for the same seed.
  function randomNumbers(seed) {
    let state = seed >>> 0;
    return function () {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  const squared = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2;

  function nearest(anchors, point) {
    let best = 0;
    for (let j = 1; j < anchors.length; j++) {
      if (squared(anchors[j], point) < squared(anchors[best], point)) best = j;
    }
    return best;
  }

  // First centres far from each other, then Lloyd's steps.
  function centres(points, count, random) {
    const found = [points[Math.floor(random() * points.length)].slice()];
    while (found.length < count) {
      const far = points.map((point) => squared(point, found[nearest(found, point)]));
      const total = far.reduce((sum, one) => sum + one, 0);
      if (total === 0) break; // fewer different points than anchors
      let rest = random() * total, place = 0;
      while (place < far.length - 1 && (rest -= far[place]) > 0) place += 1;
      found.push(points[place].slice());
    }
    for (let round = 0; round < 20; round++) {
      const sums = found.map(() => [0, 0, 0]);
      for (const point of points) {
        const sum = sums[nearest(found, point)];
        sum[0] += point[0]; sum[1] += point[1]; sum[2] += 1;
      }
      sums.forEach((sum, j) => {
        if (sum[2] > 0) found[j] = [sum[0] / sum[2], sum[1] / sum[2]];
      });
    }
    return found;
  }

  // Mean distance of an anchor to the next one.
  function spacing(anchors) {
    if (anchors.length === 1) return 1;
    const gaps = anchors.map((anchor, j) => {
      const others = anchors.filter((_, k) => k !== j);
      return Math.sqrt(squared(anchor, others[nearest(others, anchor)]));
    });
    return Math.max(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length, 1e-6);
  }

  function shaped(values, ...shape) {
    const data = Float64Array.from(values);
    data.shape = shape;
    return data;
  }

  function asModel(anchors, bandwidth, solution) {
    const m = anchors.length;
    const at = (j, i) => solution[3 * j + i];
    const each = Array.from({ length: m }, (_, j) => j);
    return {
      columns: 2, classes: 2, scores: 1, steps: [], factor: 1,
      link: { kind: "multinomial", scale: 1, offset: [0, 0] },
      members: [{
        coding: "adaptive", neighbors: m, bandwidth: [bandwidth], metric: null,
        anchors: shaped(anchors.flat(), m, 2),
        coef: shaped(each.flatMap((j) => [at(j, 0) / UNIT, at(j, 1) / UNIT]), m, 1, 2),
        intercept: shaped(each.map((j) => at(j, 2)), m, 1),
        map: null, mapped: false, origins: [0, 1], groups: null,
      }],
    };
  }

  // A x = b for a positive definite matrix, by Cholesky's factors.
  function solved(A, b) {
    const n = b.length;
    const L = A.map((row) => Float64Array.from(row));
    const x = Float64Array.from(b);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let total = L[i][j];
        for (let k = 0; k < j; k++) total -= L[i][k] * L[j][k];
        L[i][j] = i === j ? Math.sqrt(total) : total / L[j][j];
      }
      for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
      x[i] /= L[i][i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) x[i] -= L[k][i] * x[k];
      x[i] /= L[i][i];
    }
    return x;
  }

  const softplus = (value) => Math.max(value, 0) + Math.log1p(Math.exp(-Math.abs(value)));

  // alpha / 2 |w|^2 + mean log(1 + exp(-s f)), by Newton's method. A row of the problem is
  // g (x) [x, y, 1] in these units: three numbers for each anchor that speaks.
  function minimised(rows, signs, size, alpha) {
    const n = rows.length;
    let w = new Float64Array(size);
    const scores = (v) => rows.map((row) => row.reduce((sum, [i, z]) => sum + z * v[i], 0));
    const cost = (v) => scores(v).reduce((sum, f, r) => sum + softplus(-signs[r] * f) / n,
      (alpha / 2) * v.reduce((sum, one) => sum + one * one, 0));
    let value = cost(w);
    for (let step = 0; step < 50; step++) {
      const gradient = w.map((one) => alpha * one);
      const hessian = Array.from({ length: size }, (_, i) => {
        const line = new Float64Array(size);
        line[i] = alpha;
        return line;
      });
      scores(w).forEach((f, r) => {
        const p = 1 / (1 + Math.exp(signs[r] * f));
        for (const [i, z] of rows[r]) {
          gradient[i] -= (signs[r] * p * z) / n;
          for (const [k, other] of rows[r]) hessian[i][k] += (p * (1 - p) * z * other) / n;
        }
      });
      const move = solved(hessian, gradient);
      const slope = move.reduce((sum, one, i) => sum + one * gradient[i], 0);
      if (slope < 1e-12) break;
      let length = 1, next, found;
      do {
        next = w.map((one, i) => one - length * move[i]);
        found = cost(next);
        length /= 2;
      } while (found > value - 1e-4 * 2 * length * slope && length > 1e-6);
      w = next;
      value = found;
    }
    return w;
  }

  // Labels are 0 and 1. Without points of both there is nothing to tell apart: null.
  function fitted(points, labels, settings) {
    if (new Set(labels).size < 2) return null;
    const count = Math.min(settings.anchors, points.length);
    const anchors = centres(points, count, randomNumbers(settings.seed || 0));
    const bandwidth = settings.sharpness / spacing(anchors);
    const empty = asModel(anchors, bandwidth, new Float64Array(3 * anchors.length));
    const rows = points.map(([x, y]) => localModel.ask(empty, [x, y]).locals.flatMap(
      ([j, g]) => [[3 * j, (g * x) / UNIT], [3 * j + 1, (g * y) / UNIT], [3 * j + 2, g]]));
    const signs = labels.map((label) => (label ? 1 : -1));
    return asModel(anchors, bandwidth,
      minimised(rows, signs, 3 * anchors.length, settings.alpha));
  }

  // w(x) and b(x) of every score, from the local models that speak.
  function localWeights(model, locals) {
    const [member] = model.members;
    const [, nScores, size] = member.coef.shape;
    const coef = Array.from({ length: nScores }, () => new Float64Array(size));
    const intercept = new Float64Array(nScores);
    for (const [j, g] of locals) {
      for (let c = 0; c < nScores; c++) {
        intercept[c] += g * member.intercept[j * nScores + c];
        const start = (j * nScores + c) * size;
        for (let i = 0; i < size; i++) coef[c][i] += g * member.coef[start + i];
      }
    }
    return { coef, intercept };
  }

  return { fit: fitted, weights: localWeights, random: randomNumbers };
})();
