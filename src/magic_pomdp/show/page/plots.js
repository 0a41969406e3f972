// Plots of results: means with standard errors, in rows or as curves. A plot is plain data:
// {kind: "rows", title, rows: [{name, value, error, others: [{name, value}]}]}
// {kind: "curves", title, x, log, series: [{name, colour, points: [[x, mean, error]]}], lines: [{name, value}]}
const Plots = (() => {
  const { short, svg, ticks } = Charts;
  const ROW = 30;
  const LETTER = 7.6; // its width, about
  const CURVES_HEIGHT = 280;

  /** A name in lines of at most so many letters, broken behind commas. */
  function broken(name, letters) {
    const lines = [""];
    for (const part of name.split(/(?<=,) /)) {
      const last = lines[lines.length - 1];
      if (last && last.length + 1 + part.length > letters) lines.push(part);
      else lines[lines.length - 1] = last ? `${last} ${part}` : part;
    }
    return lines;
  }

  function text(content, attributes) {
    const element = svg("text", attributes);
    element.textContent = content;
    return element;
  }

  function title(element, content) {
    const inner = svg("title");
    inner.textContent = content;
    element.append(inner);
    return element;
  }

  const minus = (number) => String(Number(number.toPrecision(6))).replace("-", "−");

  /** The range of some numbers, with a little room around it. */
  function range(numbers) {
    const low = Math.min(...numbers);
    const high = Math.max(...numbers);
    const room = 0.07 * (high - low) || 1;
    return [low - room, high + room];
  }

  /** Shapes that tell ours from others' without colour. */
  function sign(kind, x, y) {
    if (kind === "ours") return svg("circle", { class: "ours", cx: x, cy: y, r: 5 });
    if (kind === "paper") return svg("path", { class: "others", d: `M${x} ${y - 6}l6 6l-6 6l-6 -6z` });
    return svg("rect", { class: "others", x: x - 4.5, y: y - 4.5, width: 9, height: 9 });
  }

  class Plot {
    constructor(element, plot) {
      Object.assign(this, { element, plot });
      const caption = document.createElement("figcaption");
      const heading = document.createElement("h3");
      heading.textContent = plot.title;
      caption.append(heading, ...this.keys());
      this.picture = svg("svg", { role: "img", "aria-label": this.describe() });
      element.append(caption, this.picture);
      new ResizeObserver(() => this.render()).observe(this.picture);
    }

    keys() {
      const { plot } = this;
      const key = (name, picture) => {
        const one = document.createElement("span");
        one.className = "key";
        const box = svg("svg", { viewBox: "0 0 22 14", "aria-hidden": "true" });
        box.append(picture);
        one.append(box, name);
        return one;
      };
      if (plot.kind === "rows") {
        const others = new Set(plot.rows.flatMap((row) => row.others.map(({ name }) => name)));
        return others.size === 0 ? [] : [key("this software", sign("ours", 11, 7)), ...[...others].map((name) => key(name, sign(name, 11, 7)))];
      }
      const seen = new Map(plot.series.map(({ name, colour }) => [name, colour]));
      const curves = [...seen].map(([name, colour]) => key(name, svg("path", { class: `curve c${colour}`, d: "M1 7h20" })));
      const lines = plot.lines.map(({ name, value }, i) => key(`${name}: ${short(value)}`, svg("path", { class: `level l${i}`, d: "M1 7h20" })));
      return [...curves, ...lines];
    }

    describe() {
      const { plot } = this;
      const parts =
        plot.kind === "rows"
          ? plot.rows.map(({ name, value }) => `${name} ${short(value)}`)
          : plot.series.map(({ name, points }) => `${name} from ${short(points[0][1])} to ${short(points[points.length - 1][1])}`);
      return `${plot.title}: ${parts.join("; ")}`;
    }

    render() {
      const width = this.picture.clientWidth;
      if (width === 0) return;
      const parts = this.plot.kind === "rows" ? this.rows(width) : this.curves(width);
      this.picture.replaceChildren(...parts);
    }

    rows(width) {
      const { rows } = this.plot;
      const wanted = LETTER * Math.max(...rows.map(({ name }) => name.length)) + 14;
      const above = wanted > 0.4 * width; // names stand beside their rows, or above them
      const left = above ? 12 : wanted;
      const right = 16;
      const names = rows.map(({ name }) => (above ? broken(name, width / LETTER) : [name]));
      const tall = above ? (1 + 0.6 * Math.max(...names.map((lines) => lines.length))) * ROW : ROW;
      const height = rows.length * tall + 30;
      this.picture.style.height = `${height}px`;
      const numbers = rows.flatMap(({ value, error, others }) => [value - error, value + error, ...others.map((other) => other.value)]);
      const [low, high] = range(numbers);
      const toX = (value) => left + ((width - left - right) * (value - low)) / (high - low);
      const parts = ticks(low, high).flatMap((value) => [
        svg("line", { class: "axis", x1: toX(value), x2: toX(value), y1: 4, y2: height - 22 }),
        text(minus(value), { x: toX(value), y: height - 6, "text-anchor": "middle" }),
      ]);
      rows.forEach(({ name, value, error, others }, i) => {
        const y = above ? 4 + tall * (i + 1) - 0.48 * ROW : 4 + tall * (i + 0.5);
        const group = svg("g");
        names[i].forEach((line, k) => {
          const up = 13 + 0.6 * ROW * (names[i].length - 1 - k);
          const place = above ? { x: 0, y: y - up, "text-anchor": "start" } : { x: left - 10, y: y + 4, "text-anchor": "end" };
          group.append(text(line, { class: "name", ...place }));
        });
        for (const other of others) group.append(sign(other.name, toX(other.value), y));
        group.append(svg("line", { class: "whisker", x1: toX(value - error), x2: toX(value + error), y1: y, y2: y }), sign("ours", toX(value), y));
        const said = [`${name}: ${short(value)} ± ${short(error)}`, ...others.map((other) => `${other.name}: ${short(other.value)}`)];
        parts.push(title(group, said.join("\n")));
      });
      return parts;
    }

    curves(width) {
      const { series, lines, log, x: label } = this.plot;
      const edge = { left: 46, right: 14, top: 10, bottom: 40 };
      this.picture.style.height = `${CURVES_HEIGHT}px`;
      const all = series.flatMap(({ points }) => points);
      const scale = log ? Math.log10 : (x) => x;
      const xs = all.map(([x]) => scale(x));
      const [lowX, highX] = log ? range(xs) : [0, 1.04 * Math.max(...xs, 1e-9)];
      const [low, high] = range([...all.flatMap(([, mean, error]) => [mean - error, mean + error]), ...lines.map(({ value }) => value)]);
      const toX = (x) => edge.left + ((width - edge.left - edge.right) * (scale(x) - lowX)) / (highX - lowX);
      const toY = (y) => edge.top + ((CURVES_HEIGHT - edge.top - edge.bottom) * (high - y)) / (high - low);
      const floor = CURVES_HEIGHT - edge.bottom;
      const parts = ticks(low, high).flatMap((value) => [
        svg("line", { class: "axis", x1: edge.left, x2: width - edge.right, y1: toY(value), y2: toY(value) }),
        text(minus(value), { x: edge.left - 7, y: toY(value) + 4, "text-anchor": "end" }),
      ]);
      const places = log ? [...new Set(all.map(([x]) => x))].sort((a, b) => a - b) : ticks(lowX, highX);
      let free = -Infinity;
      for (const place of places) {
        const name = place >= 1000 ? place.toLocaleString("en") : minus(place);
        if (toX(place) - 4 * name.length < free) continue;
        free = toX(place) + 4 * name.length + 6;
        parts.push(svg("line", { class: "axis", x1: toX(place), x2: toX(place), y1: floor, y2: floor + 5 }));
        parts.push(text(name, { x: toX(place), y: floor + 18, "text-anchor": "middle" }));
      }
      parts.push(text(label, { x: (edge.left + width - edge.right) / 2, y: CURVES_HEIGHT - 4, "text-anchor": "middle" }));
      lines.forEach(({ value }, i) => {
        parts.push(svg("line", { class: `level l${i}`, x1: edge.left, x2: width - edge.right, y1: toY(value), y2: toY(value) }));
      });
      for (const { name, colour, points } of series) {
        const way = points.map(([x, mean]) => `${toX(x).toFixed(1)},${toY(mean).toFixed(1)}`).join(" ");
        parts.push(svg("polyline", { class: `curve c${colour}`, points: way }));
        for (const [x, mean, error] of points) {
          const group = svg("g", { class: `c${colour}` });
          group.append(
            svg("line", { class: "whisker", x1: toX(x), x2: toX(x), y1: toY(mean - error), y2: toY(mean + error) }),
            svg("circle", { class: "point", cx: toX(x), cy: toY(mean), r: 4 }),
            svg("circle", { class: "reach", cx: toX(x), cy: toY(mean), r: 14 })
          );
          parts.push(title(group, `${name}\n${minus(x)} ${label}\n${short(mean)} ± ${short(error)}`));
        }
      }
      return parts;
    }
  }

  return { Plot };
})();
