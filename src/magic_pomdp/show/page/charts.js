// Small line charts over the steps of an episode, with a cursor at the present step.
const Charts = (() => {
  const HEIGHT = 104;
  const EDGE = { left: 44, right: 10, top: 8, bottom: 18 };

  function svg(name, attributes = {}) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  /** A number as people write it: 3 digits, or none behind the point of a large one. */
  function short(number) {
    if (number === null || number === undefined || Number.isNaN(number)) return "–";
    if (number === 0) return "0";
    const size = Math.abs(number);
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
    return number.toFixed(digits).replace("-", "−");
  }

  /** Up to four round numbers within a range. */
  function ticks(low, high) {
    const rough = (high - low) / 3;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const found = [];
    for (let tick = Math.ceil(low / step); tick * step <= high; tick++) found.push(tick * step);
    return found;
  }

  class LineChart {
    /** series: [{name, colour, help, values, band: [lows, highs] | null}]; onSeek(step) is called by a click. */
    constructor(title, series, onSeek, tooltip) {
      Object.assign(this, { title, series, onSeek, tooltip, cursorStep: 0 });
      this.length = Math.max(...series.map(({ values }) => values.length));
      this.element = document.createElement("figure");
      this.element.className = "chart";
      this.element.style.margin = "0";
      this.caption = document.createElement("figcaption");
      this.caption.className = "caption";
      const heading = document.createElement("h3");
      heading.textContent = title;
      this.caption.append(heading);
      this.readings = series.map(({ name, colour, help }) => {
        const key = document.createElement("span");
        key.className = "key";
        if (help) key.title = help;
        const line = document.createElement("i");
        line.style.background = `var(${colour})`;
        const reading = document.createElement("b");
        key.append(line, `${name} `, reading);
        this.caption.append(key);
        return reading;
      });
      this.picture = svg("svg", { role: "img", "aria-label": this.describe(title) });
      this.element.append(this.caption, this.picture);
      this.picture.addEventListener("pointermove", (event) => this.hover(event));
      this.picture.addEventListener("pointerleave", () => this.tooltip.hide());
      this.picture.addEventListener("pointerdown", (event) => this.onSeek(this.stepAt(event)));
      new ResizeObserver(() => this.render()).observe(this.picture);
    }

    /** Show other values of the same series, up to the present step; `bands` may hold a band for each. */
    update(values, bands = []) {
      this.series = this.series.map((one, i) => ({ ...one, values: values[i], band: bands[i] || null }));
      this.length = Math.max(...values.map(({ length }) => length));
      this.shown = null;
      this.cursorStep = this.length - 1;
      this.picture.setAttribute("aria-label", this.describe(this.title));
      this.render();
    }

    describe(title) {
      const ends = this.series.map(
        ({ name, values }) => `${name} from ${short(values[0])} to ${short(values[values.length - 1])}`
      );
      return `${title}: ${ends.join(", ")}`;
    }

    range() {
      let low = Infinity;
      let high = -Infinity;
      for (const { values, band } of this.series) {
        for (const list of [values, ...(band || [])]) {
          for (const value of list) {
            if (value === null || !Number.isFinite(value)) continue;
            low = Math.min(low, value);
            high = Math.max(high, value);
          }
        }
      }
      if (low > high) [low, high] = [0, 1];
      if (this.fromZero) low = Math.min(0, low);
      const pad = 0.06 * (high - low) || 0.5;
      return [low - pad, high + pad];
    }

    render() {
      const width = this.picture.clientWidth;
      if (width === 0) return;
      const [low, high] = this.range();
      this.toX = (step) => EDGE.left + ((width - EDGE.left - EDGE.right) * step) / Math.max(1, this.length - 1);
      const toY = (value) => EDGE.top + ((HEIGHT - EDGE.top - EDGE.bottom) * (high - value)) / (high - low);
      const parts = [];
      for (const value of ticks(low, high)) {
        parts.push(
          svg("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: toY(value), y2: toY(value) })
        );
        const label = svg("text", { x: EDGE.left - 6, y: toY(value) + 4, "text-anchor": "end" });
        label.textContent = String(Number(value.toPrecision(6))).replace("-", "−");
        parts.push(label);
      }
      for (const [step, anchor] of this.length > 1
        ? [
            [0, "start"],
            [this.length - 1, "end"],
          ]
        : [[0, "start"]]) {
        const label = svg("text", { x: this.toX(step), y: HEIGHT - 3, "text-anchor": anchor });
        label.textContent = step === 0 ? "step 0" : String(step);
        parts.push(label);
      }
      const point = (value, step) => (value === null ? [] : [`${this.toX(step).toFixed(1)},${toY(value).toFixed(1)}`]);
      for (const { colour, values, band } of this.series) {
        if (band) {
          const there = band[0].flatMap(point);
          const back = band[1].flatMap(point).reverse();
          const area = svg("polygon", { points: [...there, ...back].join(" ") });
          area.style.fill = "var(--line-band)";
          parts.push(area);
        }
        const line = svg("polyline", { points: values.flatMap(point).join(" "), fill: "none", "stroke-width": 2 });
        line.style.stroke = `var(${colour})`;
        line.setAttribute("stroke-linejoin", "round");
        parts.push(line);
      }
      this.cursor = svg("line", { class: "cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom });
      this.picture.replaceChildren(...parts, this.cursor);
      this.setCursor(this.cursorStep);
    }

    setCursor(step) {
      this.cursorStep = Math.min(step, this.length - 1);
      const whole = Math.floor(this.cursorStep);
      if (whole !== this.shown) {
        this.shown = whole;
        this.series.forEach(({ values }, i) => {
          this.readings[i].textContent = short(values[whole]);
        });
      }
      if (!this.cursor) return;
      const x = this.toX(this.cursorStep).toFixed(1);
      this.cursor.setAttribute("x1", x);
      this.cursor.setAttribute("x2", x);
    }

    stepAt(event) {
      const box = this.picture.getBoundingClientRect();
      const share = (event.clientX - box.left - EDGE.left) / Math.max(1, box.width - EDGE.left - EDGE.right);
      return Math.round(Math.min(1, Math.max(0, share)) * (this.length - 1));
    }

    hover(event) {
      const step = this.stepAt(event);
      if (event.buttons === 1) this.onSeek(step);
      const lines = this.series.flatMap(({ name, values, band }) => [
        `${name} ${short(values[step])}`,
        ...(band ? [`bounds ${short(band[0][step])} … ${short(band[1][step])}`] : []),
      ]);
      this.tooltip.show(event, [`step ${step}`, ...lines].join("\n"));
    }
  }

  return { LineChart, short, svg, ticks };
})();
