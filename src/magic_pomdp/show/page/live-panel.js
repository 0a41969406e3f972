// The running episode as a panel: what the server tells of it, drawn, and the things in it that can be moved.
const Live = (() => {
  const { HELP, PlanPanel, brief, macrosOf, make, plannerAbout, plannerName } = Panels;
  const { short } = Charts;
  const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");
  const GRAB = 22; // pixels within which a finger means a thing
  const SEND_PAUSE = 50; // milliseconds between two messages of one drag

  /** The present moment of a running episode, with its drawing, numbers, charts and search tree. */
  class LivePanel extends PlanPanel {
    constructor(tooltip, onMove) {
      super(tooltip);
      Object.assign(this, { onMove, rows: [], now: null, before: null, held: null, pointed: null, shown: {} });
      this.element = make("section", "panel");
      this.element.setAttribute("aria-label", "The running episode");
      this.head = make("div", "head");
      this.name = make("h2");
      this.about = make("span", "about");
      this.badge = make("span", "badge");
      this.head.append(this.name, this.about, this.badge);
      const names = [
        "step",
        "return",
        "value",
        "bounds",
        "planned in",
        "90 % within",
        "choices up to",
        "simulated",
        "observed",
      ];
      this.sight = make("div", "sight");
      this.insight = make("div", "insight");
      const chart = (title, ...series) =>
        new Charts.LineChart(
          title,
          series.map(([name, colour]) => ({ name, colour, help: HELP[name], values: [null], band: null })),
          () => {},
          tooltip
        );
      this.charts = {
        value: chart("Value, with its bounds", ["value", "--line-value"]),
        time: chart("Planning time in ms", ["planned", "--line-return"], ["budget", "--line-error"]),
        belief: chart("Belief", ["spread", "--line-spread"], ["error", "--line-error"]),
        sum: chart("Return so far", ["return", "--line-return"]),
      };
      this.charts.time.fromZero = true;
      this.insight.append(...Object.values(this.charts).map(({ element }) => element), this.makeTree(true));
      this.element.append(this.head, this.makeNumbers(...names), this.sight, this.insight);
      this.meter = make("i", "meter");
      this.numbers["planned in"].parentElement.append(this.meter);
      this.animate = this.animate.bind(this);
    }

    // ---------------------------------------------------------------------------------------------- what is told

    showSettings({ planner, playing, pace, preparing }) {
      this.budget = planner.budget.seconds;
      Object.assign(this, { playing, pace });
      this.name.textContent = plannerName(planner);
      this.about.textContent = plannerAbout(planner);
      this.preparing = preparing;
      this.showBadge();
    }

    showBadge() {
      const { now, badge } = this;
      const outcome = now?.outcome;
      badge.className = `badge ${outcome || ""}`;
      badge.textContent = this.preparing
        ? `preparing ${this.preparing} …`
        : outcome
          ? `${outcome}, return ${short(now.return)}`
          : this.playing
            ? "running"
            : "paused";
    }

    beginEpisode() {
      Object.assign(this, { rows: [], before: null, plan: null });
    }

    showScene(scene) {
      if (!this.sight.firstChild) {
        this.sight.append(...this.makeStage(scene, Boolean(scene?.robot)));
        if (scene) this.makeHandles(scene.handles);
        const [left, bottom, right, top] = scene ? scene.view : [0, 0, 2, 1];
        if (right - left > 1.5 * (top - bottom)) this.sight.append(this.charts.belief.element, this.charts.sum.element);
        this.setTheme(this.theme);
        this.stage?.resize();
      } else if (scene) {
        this.stage.setScene(scene);
        this.redraw();
      }
    }

    showRows({ from, rows }) {
      this.rows.length = Math.min(from, this.rows.length);
      this.rows.push(...rows);
      const column = (name, scale = 1) => this.rows.map((row) => (row[name] === null ? null : scale * row[name]));
      const bounded = this.rows.some(({ lower }) => lower !== null);
      this.charts.value.update([column("value")], [bounded && [column("lower"), column("upper")]]);
      this.charts.time.update([column("seconds", 1000), column("budget", 1000)]);
      this.charts.belief.update([column("spread"), column("error")]);
      this.charts.sum.update([column("return")]);
      const times = column("seconds", 1000)
        .filter((time) => time !== null)
        .sort((a, b) => a - b);
      this.numbers["90 % within"].textContent = times.length
        ? milliseconds(times[Math.ceil(0.9 * times.length) - 1])
        : "–";
    }

    showFrame(frame) {
      const follows = this.now && frame.step === this.now.step + 1 && this.playing && !STILL.matches;
      this.before = follows ? this.now : null;
      this.now = frame;
      this.began = performance.now();
      const { numbers } = this;
      numbers.step.textContent = `${frame.step} of ${frame.max_steps}`;
      numbers.return.textContent = short(frame.return);
      numbers.observed.textContent = frame.observation ? Array.from(frame.observation.values, brief).join("  ") : "–";
      numbers.observed.title = numbers.observed.textContent;
      this.canvas?.setAttribute(
        "aria-label",
        `Drawing of the task at step ${frame.step}: return ${short(frame.return)}`
      );
      this.showBadge();
      this.startAnimation();
    }

    showPlan(plan) {
      super.showPlan(plan);
      this.ways = macrosOf(plan);
      const { numbers } = this;
      const share = plan.seconds / this.budget;
      numbers["planned in"].textContent =
        `${milliseconds(1000 * plan.seconds).slice(0, -3)} of ${milliseconds(1000 * this.budget)}`;
      this.meter.style.setProperty("--share", Math.min(1, share));
      this.meter.classList.toggle("over", share > 1.1);
      numbers.simulated.textContent = `${(plan.steps / Math.max(plan.seconds, 1e-9) / 1e6).toFixed(1)} M/s`;
      numbers.simulated.title = `${plan.steps.toLocaleString("en")} primitive steps in this plan`;
      this.redraw();
    }

    // --------------------------------------------------------------------------------------------- what is drawn

    setTheme(theme) {
      this.theme = theme;
      super.setTheme(theme);
      this.redraw();
    }

    /** How much of the way from the moment before to the present one is drawn. */
    share() {
      const duration = Math.min(300, 900 / (this.pace || 4));
      return this.before ? Math.min(1, (performance.now() - this.began) / duration) : 1;
    }

    startAnimation() {
      if (this.before && !this.animating) {
        this.animating = true;
        requestAnimationFrame(this.animate);
      } else this.redraw();
    }

    animate() {
      this.redraw();
      this.animating = this.share() < 1;
      if (this.animating) requestAnimationFrame(this.animate);
    }

    frame() {
      const { now, before, shown } = this;
      if (!now) return null;
      const share = this.share();
      const sprites =
        share < 1 ? before.sprites.map((shape, i) => Drawing.between(shape, now.sprites[i], share)) : now.sprites;
      return {
        sprites,
        clouds: shown.particles ? now.clouds.map((cloud, i) => this.cloud(cloud, before?.clouds[i], share)) : [],
        trails: shown.trail
          ? this.stage.scene.trails.map(({ role }, i) => ({ role, points: this.trail(i, share) }))
          : [],
        macros: this.macros(),
        marked: this.marked,
      };
    }

    cloud({ role, points: { values } }, before, share) {
      const old = before?.points.values;
      if (share === 1 || old.length !== values.length) return { role, points: values };
      return { role, points: values.map((value, i) => old[i] + share * (value - old[i])) };
    }

    trail(number, share) {
      const points = this.rows.flatMap(({ trails }) => trails[number]);
      const end = points.length;
      if (share < 1 && end >= 4) {
        for (const i of [end - 2, end - 1]) points[i] = points[i - 2] + share * (points[i] - points[i - 2]);
      }
      return points;
    }

    macros() {
      return this.shown.macros && this.plan && !this.now?.outcome ? this.ways : [];
    }

    redraw() {
      super.redraw();
      const active = this.held ?? this.pointed ?? this.focused;
      if (this.stage && this.now && active !== null && active !== undefined) this.drawHandle(active);
    }

    // -------------------------------------------------------------------------------------- things that are moved

    makeHandles(handles) {
      this.handles = handles;
      if (handles.length === 0) return;
      const { canvas } = this;
      const box = make("div", "handles");
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Things that can be moved");
      box.append(make("span", "", "Drag, or move with the arrow keys:"));
      this.chips = handles.map(({ name }, number) => {
        const chip = make("button", "handle", name);
        chip.title = `Move the ${name} with the arrow keys`;
        chip.addEventListener("focus", () => this.focus(number));
        chip.addEventListener("blur", () => this.focus(null));
        chip.addEventListener("keydown", (event) => this.nudge(event, number));
        box.append(chip);
        return chip;
      });
      this.sight.append(box);
      canvas.addEventListener("pointerdown", (event) => this.take(event));
      canvas.addEventListener("pointerup", (event) => this.letGo(event));
      canvas.addEventListener("pointercancel", (event) => this.letGo(event));
      // A finger on a thing moves the thing, elsewhere it scrolls the page.
      canvas.addEventListener(
        "touchstart",
        (event) => this.handleAt(event.touches[0]) !== null && event.preventDefault(),
        { passive: false }
      );
    }

    /** Let the next thing have the keyboard. */
    focusNext() {
      if (this.chips) this.chips[((this.focused ?? -1) + 1) % this.chips.length].focus();
    }

    focus(number) {
      this.focused = number;
      this.redraw();
    }

    nudge(event, number) {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!way || !this.now) return;
      event.preventDefault();
      const [left, bottom, right, top] = this.stage.scene.view;
      const step = Math.min(right - left, top - bottom) / 40;
      const [x, y] = this.place(number);
      this.onMove(number, ...this.within(x + step * way[0], y + step * way[1]));
    }

    /** Where a thing is; in the middle of the view, where it has no coordinate. */
    place(number) {
      const [left, bottom, right, top] = this.stage.scene.view;
      const [x, y] = this.now.handles[number];
      return [x ?? (left + right) / 2, y ?? (bottom + top) / 2];
    }

    within(x, y) {
      const [left, bottom, right, top] = this.stage.scene.view;
      return [Math.min(right, Math.max(left, x)), Math.min(top, Math.max(bottom, y))];
    }

    /** The number of the thing at a place on the page, or null: a thing with a place before one that is a strip. */
    handleAt({ clientX, clientY }) {
      if (!this.now || this.now.outcome || !this.handles?.length) return null;
      const { stage } = this;
      const [x, y] = stage.toWorld(clientX, clientY);
      let found = null;
      let best = Infinity;
      this.now.handles.forEach(([handleX, handleY], number) => {
        const strip = handleX === null || handleY === null;
        const distance =
          Math.hypot(handleX === null ? 0 : x - handleX, handleY === null ? 0 : y - handleY) * stage.zoom;
        const reach = Math.max(this.handles[number].radius * stage.zoom, (strip ? GRAB / 2 : GRAB) * stage.ratio);
        const rank = distance + (strip ? 1e6 : 0);
        if (distance <= reach && rank < best) [found, best] = [number, rank];
      });
      return found;
    }

    take(event) {
      const number = event.button === 0 ? this.handleAt(event) : null;
      if (number === null) return;
      event.preventDefault();
      this.canvas.setPointerCapture(event.pointerId);
      const [x, y] = this.stage.toWorld(event.clientX, event.clientY);
      const [atX, atY] = this.place(number);
      this.held = number;
      this.offset = [atX - x, atY - y];
      this.tooltip.hide();
      this.hover(event);
    }

    letGo(event) {
      if (this.held === null) return;
      this.sendMove(true);
      this.held = this.pointed = this.target = null;
      this.hover(event);
    }

    hover(event) {
      if (this.held !== null) {
        const [x, y] = this.stage.toWorld(event.clientX, event.clientY);
        const target = this.within(x + this.offset[0], y + this.offset[1]);
        if (event.type === "pointermove") {
          this.target = target;
          this.sendMove(false);
        }
        this.canvas.style.cursor = "grabbing";
        this.redraw();
        return;
      }
      const pointed = this.handleAt(event);
      this.canvas.style.cursor = pointed === null ? "" : "grab";
      if (pointed !== this.pointed) {
        this.pointed = pointed;
        this.redraw();
      }
      if (pointed === null) super.hover(event);
      else {
        this.mark(null);
        this.tooltip.show(event, `drag the ${this.handles[pointed].name}`);
      }
    }

    /** Say where the held thing is now: not too often, but always in the end. */
    sendMove(last) {
      clearTimeout(this.moveWaits);
      if (!this.target) return;
      const wait = (this.nextMove || 0) - performance.now();
      if (!last && wait > 0) {
        this.moveWaits = setTimeout(() => this.sendMove(false), wait);
        return;
      }
      this.nextMove = performance.now() + SEND_PAUSE;
      this.onMove(this.held, ...this.target);
    }

    drawHandle(number) {
      const { stage } = this;
      const { context, ratio } = stage;
      const at = number === this.held && this.target ? this.target : this.place(number);
      const [x, y] = [stage.x(at[0]), stage.y(at[1])];
      const [handleX, handleY] = this.now.handles[number];
      context.globalAlpha = 1;
      context.strokeStyle = this.colours.chosen;
      context.lineWidth = 2 * ratio;
      context.setLineDash([5 * ratio, 4 * ratio]);
      context.beginPath();
      if (handleY === null || handleX === null) {
        const reach = this.handles[number].radius * stage.zoom;
        if (handleY === null) context.rect(x - reach, -10, 2 * reach, this.canvas.height + 20);
        else context.rect(-10, y - reach, this.canvas.width + 20, 2 * reach);
      } else
        context.arc(x, y, Math.max(this.handles[number].radius * stage.zoom, 10 * ratio) + 4 * ratio, 0, 2 * Math.PI);
      context.stroke();
      context.setLineDash([]);
    }
  }

  function milliseconds(time) {
    return `${time.toFixed(time < 10 ? 1 : 0)} ms`;
  }

  return { LivePanel };
})();
