// Drawing a task: its scene and a frame, both plain data, on a canvas. Knows no task, no planner and no player.
//
// scene: {view: [left, bottom, right, top], shapes}, as a task's `scene` gives it.
// frame: {clouds: [{role, points}], trails: [{role, points}], sprites: [shape],
//         macros: [{path, shade, chosen}], marked: number | null}
//   points and path: x, y, x, y, … in the task's coordinates; shade: 0 (low value) to 1 (high).
const Drawing = (() => {
  const TWO_PI = 2 * Math.PI;
  const NEAR = 12; // pixels within which the pointer means a macro-action

  /** The colour of a shade between 0 and 1. */
  function shadeColour(colours, shade) {
    const [from, to, share] =
      shade < 0.5 ? [colours.low, colours.middle, 2 * shade] : [colours.middle, colours.high, 2 * shade - 1];
    const channel = (i) => {
      const a = parseInt(from.slice(i, i + 2), 16);
      return Math.round(a + share * (parseInt(to.slice(i, i + 2), 16) - a));
    };
    return `rgb(${channel(1)}, ${channel(3)}, ${channel(5)})`;
  }

  /** Shades for values: 1 for the best, 0 for those far below the middle ones, so that one very bad does not hide the rest. */
  function shades(values) {
    const sorted = Array.from(values).sort((a, b) => a - b);
    const best = sorted[sorted.length - 1];
    const low = Math.max(sorted[0], best - 3 * (best - sorted[sorted.length >> 1]));
    const range = best - low;
    const of = Array.from(values, (value) => (range > 0 ? Math.max(0, (value - low) / range) : 1));
    return { of, low, best };
  }

  class Stage {
    constructor(canvas, scene) {
      this.canvas = canvas;
      this.context = canvas.getContext("2d");
      this.colours = PALETTE.light;
      this.setScene(scene);
    }

    setScene(scene) {
      this.scene = scene;
      const [left, bottom, right, top] = scene.view;
      this.canvas.style.aspectRatio = `${right - left} / ${top - bottom}`;
      this.resize();
    }

    setTheme(theme) {
      this.colours = PALETTE[theme];
    }

    /** Fit the canvas's pixels to its size on the page; true if they have changed. */
    resize() {
      const { canvas, scene } = this;
      const ratio = Math.min(window.devicePixelRatio || 1, 3);
      const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
      const changed = canvas.width !== width || canvas.height !== height;
      if (changed) {
        canvas.width = width;
        canvas.height = height;
      }
      const [left, bottom, right, top] = scene.view;
      this.ratio = ratio;
      this.zoom = Math.min(width / (right - left), height / (top - bottom));
      this.originX = width / 2 - (this.zoom * (left + right)) / 2;
      this.originY = height / 2 + (this.zoom * (bottom + top)) / 2;
      return changed;
    }

    x(x) {
      return this.originX + this.zoom * x;
    }

    y(y) {
      return this.originY - this.zoom * y;
    }

    /** The task's coordinates of a place on the page. */
    toWorld(clientX, clientY) {
      const box = this.canvas.getBoundingClientRect();
      const x = ((clientX - box.left) * this.canvas.width) / box.width;
      const y = ((clientY - box.top) * this.canvas.height) / box.height;
      return [(x - this.originX) / this.zoom, (this.originY - y) / this.zoom];
    }

    /** The number of the macro-action whose way is nearest to a place on the page, or null. */
    macroAt(macros, clientX, clientY) {
      const [x, y] = this.toWorld(clientX, clientY);
      let found = null;
      let nearest = ((NEAR * this.ratio) / this.zoom) ** 2;
      macros.forEach(({ path }, number) => {
        for (let i = 2; i < path.length; i += 2) {
          const distance = squareToSegment(x, y, path[i - 2], path[i - 1], path[i], path[i + 1]);
          if (distance < nearest) [found, nearest] = [number, distance];
        }
      });
      return found;
    }

    colour(role) {
      return this.colours[role] || role;
    }

    draw(frame) {
      const { context, canvas } = this;
      context.globalAlpha = 1;
      context.lineJoin = context.lineCap = "round";
      context.fillStyle = this.colours.ground;
      context.fillRect(0, 0, canvas.width, canvas.height);
      for (const shape of this.scene.shapes) this.shape(shape);
      for (const cloud of frame.clouds) this.cloud(cloud);
      for (const { role, points } of frame.trails) this.way(points, this.colour(role), 1.6, 0.8);
      this.macros(frame.macros, frame.marked);
      for (const shape of frame.sprites) this.shape(shape);
    }

    shape(shape) {
      const { context } = this;
      const colour = this.colour(shape.role);
      context.globalAlpha = 1;
      if (shape.kind === "text") {
        context.fillStyle = colour;
        context.font = `${13 * this.ratio}px system-ui, sans-serif`;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(shape.text, this.x(shape.x), this.y(shape.y));
        return;
      }
      context.beginPath();
      if (shape.kind === "circle") {
        context.arc(this.x(shape.x), this.y(shape.y), shape.radius * this.zoom, 0, TWO_PI);
      } else if (shape.kind === "polygon") {
        const cos = Math.cos(shape.heading);
        const sin = Math.sin(shape.heading);
        for (const [x, y] of shape.points) {
          context.lineTo(this.x(shape.x + cos * x - sin * y), this.y(shape.y + sin * x + cos * y));
        }
        context.closePath();
      } else {
        for (const [x, y] of shape.points) context.lineTo(this.x(x), this.y(y));
      }
      if (shape.filled) {
        context.fillStyle = colour;
        context.fill();
      } else {
        context.strokeStyle = colour;
        context.lineWidth = (shape.width || 2.5) * this.ratio;
        context.setLineDash(shape.dashed ? [6 * this.ratio, 5 * this.ratio] : []);
        context.stroke();
        context.setLineDash([]);
      }
    }

    cloud({ role, points }) {
      const { context } = this;
      const size = Math.max(2, 2.4 * this.ratio);
      context.fillStyle = this.colour(role);
      context.globalAlpha = points.length > 200 ? 0.65 : 0.85;
      context.beginPath();
      for (let i = 0; i < points.length; i += 2) {
        context.rect(this.x(points[i]) - size / 2, this.y(points[i + 1]) - size / 2, size, size);
      }
      context.fill();
    }

    way(points, colour, width, alpha) {
      const { context } = this;
      context.globalAlpha = alpha;
      context.strokeStyle = colour;
      context.lineWidth = width * this.ratio;
      context.beginPath();
      for (let i = 0; i < points.length; i += 2) context.lineTo(this.x(points[i]), this.y(points[i + 1]));
      context.stroke();
    }

    /** The ways of the macro-action set: the best above the others, the chosen one bright and on top. */
    macros(macros, marked) {
      const order = macros.map((_, number) => number).sort((a, b) => macros[a].shade - macros[b].shade);
      const last = macros.findIndex(({ chosen }) => chosen);
      for (const number of [...order, ...(last < 0 ? [] : [last]), ...(marked === null ? [] : [marked])]) {
        const macro = macros[number];
        if (macro === undefined) continue;
        const colour = shadeColour(this.colours, macro.shade);
        const bright = macro.chosen || number === marked;
        if (bright) this.way(macro.path, this.colours.chosen, number === marked ? 7.5 : 6, 0.95);
        this.way(macro.path, colour, bright ? 3.4 : 1.8, bright ? 1 : 0.4 + 0.5 * macro.shade);
        this.dot(macro.path, bright ? this.colours.chosen : colour, bright ? 4 : 2.6);
      }
    }

    /** The end of a way; it also shows a macro-action that goes nowhere. */
    dot(path, colour, radius) {
      const { context } = this;
      context.globalAlpha = 1;
      context.fillStyle = colour;
      context.beginPath();
      context.arc(this.x(path[path.length - 2]), this.y(path[path.length - 1]), radius * this.ratio, 0, TWO_PI);
      context.fill();
    }
  }

  function squareToSegment(x, y, ax, ay, bx, by) {
    const dx = bx - ax;
    const dy = by - ay;
    const length = dx * dx + dy * dy;
    const share = length > 0 ? Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
    return (ax + share * dx - x) ** 2 + (ay + share * dy - y) ** 2;
  }

  /** A shape on its way from one frame to the next. */
  function between(shape, next, share) {
    if (share === 0 || !next || next.kind !== shape.kind || next.role !== shape.role) return shape;
    const mixed = { ...shape };
    for (const name of ["x", "y", "radius"]) {
      if (name in shape) mixed[name] = shape[name] + share * (next[name] - shape[name]);
    }
    if ("heading" in shape) {
      const turn = next.heading - shape.heading;
      mixed.heading = shape.heading + share * Math.atan2(Math.sin(turn), Math.cos(turn));
    }
    if (shape.points && next.points.length === shape.points.length) {
      mixed.points = shape.points.map(([x, y], i) => [
        x + share * (next.points[i][0] - x),
        y + share * (next.points[i][1] - y),
      ]);
    }
    return mixed;
  }

  return { Stage, between, shades, shadeColour };
})();
