// What the explorer computes from a loss. A loss is a function of z and its slope, from `formulas` or from samples.
const explorerMath = (() => {
  const BISECTIONS = 100;

  // Straight lines between samples and beyond their ends.
  function interpolated({ first, last, values, slopes }) {
    const step = (last - first) / (values.length - 1);
    const cell = (z) => Math.min(Math.max(Math.floor((z - first) / step), 0), values.length - 2);
    return {
      value: (z) => {
        if (z > last) return values.at(-1) + slopes.at(-1) * (z - last);
        if (z < first) return values[0] + slopes[0] * (z - first);
        const i = cell(z);
        return values[i] + (values[i + 1] - values[i]) * ((z - first) / step - i);
      },
      slope: (z) => slopes[Math.min(Math.max(Math.round((z - first) / step), 0), slopes.length - 1)],
    };
  }

  // l(scale (z - margin)), with the given parameters of the loss.
  function transformed(entry, parameters, scale, margin) {
    const { value, slope } = formulas[entry.name] ?? interpolated(entry.samples);
    return {
      value: (z) => value(scale * (z - margin), ...parameters),
      slope: (z) => scale * slope(scale * (z - margin), ...parameters),
      unit: 1 / scale,
    };
  }

  const sum = (loss, z) => loss.value(z) + loss.value(-z);

  // The largest z up to which l(z) + l(-z) = 2 l(0); infinite for a symmetric loss.
  function symmetricRadius(loss) {
    const middle = 2 * loss.value(0);
    const range = Math.abs(loss.value(-10 * loss.unit) - loss.value(10 * loss.unit)) || 1;
    const holds = (z) => {
      const size = Math.abs(loss.value(z)) + Math.abs(loss.value(-z));
      return Math.abs(sum(loss, z) - middle) <= 1e-9 * range + 1e-14 * size;
    };
    let low = 0;
    for (let k = -60; k <= 60; k++) {
      let high = 10 ** (k / 20) * loss.unit;
      if (holds(high)) { low = high; continue; }
      for (let i = 0; i < BISECTIONS; i++) {
        const middleOf = (low + high) / 2;
        if (holds(middleOf)) low = middleOf; else high = middleOf;
      }
      return low > 1e-2 * loss.unit ? low : 0;
    }
    return Infinity;
  }

  const risk = (loss, eta, z) => eta * loss.value(z) + (1 - eta) * loss.value(-z);

  // The lowest conditional risk on one side of 0: where it stops falling on the way outward.
  function bestOn(loss, eta, side) {
    const at = (t) => risk(loss, eta, side * t);
    const falls = (t) => side * (eta * loss.slope(side * t) - (1 - eta) * loss.slope(-side * t)) < 0;
    const probes = Array.from({ length: 241 }, (_, k) => 10 ** ((k - 120) / 40) * loss.unit);
    const risks = probes.map(at);
    const best = risks.reduce((lowest, value, k) => (value < risks[lowest] ? k : lowest), 0);
    let low = best ? probes[best - 1] : 0;
    let high = probes[best];
    if (best === 0 && !falls(high)) return { at: side, value: at(high) }; // flat from 0 on: take 1 or -1
    while (falls(high) && high < 1e3 * loss.unit) [low, high] = [high, 1.1 * high];
    if (falls(high) || high > 500 * loss.unit) return { at: side * Infinity, value: at(high) };
    for (let i = 0; i < BISECTIONS; i++) {
      const middle = (low + high) / 2;
      if (falls(middle)) low = middle; else high = middle;
    }
    return { at: side * high, value: at(high) };
  }

  // f*(eta); infinite where no finite score is best.
  function minimizer(loss, eta) {
    if (eta === 0.5) return 0;
    const right = bestOn(loss, eta, eta > 0.5 ? 1 : -1);
    const wrong = bestOn(loss, eta, eta > 0.5 ? -1 : 1);
    const atZero = loss.value(0);
    if (right.value < Math.min(wrong.value, atZero)) return right.at;
    return wrong.value < atZero ? wrong.at : 0;
  }

  const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

  // What theorem 3 needs of the scores; the noise comes in later.
  function berMeans(loss, positive, negative) {
    return {
      clean: (mean(positive.map(loss.value)) + mean(negative.map((s) => loss.value(-s)))) / 2,
      positive: mean(positive.map((s) => sum(loss, s))),
      negative: mean(negative.map((s) => sum(loss, s))),
    };
  }

  // The same for theorem 1, over all pairs.
  function aucMeans(loss, positive, negative) {
    const over = (first, second) => mean(first.map((s) => mean(second.map((t) => loss.value(s - t)))));
    const clean = over(positive, negative);
    return {
      clean,
      mixed: clean + over(negative, positive),
      positive: 2 * over(positive, positive),
      negative: 2 * over(negative, negative),
    };
  }

  const berTerms = (means, pi, piPrime) => ({
    clean: means.clean,
    terms: { positive: (piPrime * means.positive) / 2, negative: ((1 - pi) * means.negative) / 2 },
  });

  const aucTerms = (means, pi, piPrime) => ({
    clean: means.clean,
    terms: {
      positive_negative: (1 - pi) * piPrime * means.mixed,
      positive_positive: ((pi * piPrime) / 2) * means.positive,
      negative_negative: (((1 - pi) * (1 - piPrime)) / 2) * means.negative,
    },
  });

  const excess = ({ terms }) => Object.values(terms).reduce((total, term) => total + term, 0);

  return { transformed, sum, risk, symmetricRadius, minimizer, berMeans, aucMeans, berTerms, aucTerms, excess };
})();
symloss.math = explorerMath;
