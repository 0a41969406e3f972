// One episode of one planner as a panel that can show any moment, and a clock that several panels follow in step.
const Players = (() => {
  const { short } = Charts;
  const TREE_PAUSE = 200; // milliseconds between two trees
  const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

  function make(name, className, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  /** A number of an action or an observation: three digits, and no zeros that say nothing. */
  function brief(number) {
    return String(Number(number.toPrecision(3))).replace("-", "−");
  }

  const PLANNERS = { "magic": "MAGIC", "macro-despot": "Macro-DESPOT", "despot": "DESPOT", "pomcpow": "POMCPOW" };

  function plannerName(planner) {
    return PLANNERS[planner.name] || planner.name;
  }

  /** What else there is to say of a planner: "length 6, 0.1 s a plan". */
  function plannerAbout({ budget, macro_length: length }) {
    const parts = [];
    if (length > 1) parts.push(`length ${length}`);
    if (budget) parts.push(budget.seconds !== null ? `${budget.seconds} s a plan` : `${budget.steps.toLocaleString("en")} steps a plan`);
    return parts.join(", ");
  }

  class Tooltip {
    constructor(element) {
      this.element = element;
    }
    show(event, text) {
      const { element } = this;
      element.textContent = text;
      element.hidden = false;
      const { width, height } = element.getBoundingClientRect();
      element.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 4))}px`;
      element.style.top = `${Math.max(4, event.clientY + 18 + height > window.innerHeight ? event.clientY - height - 10 : event.clientY + 18)}px`;
    }
    hide() {
      this.element.hidden = true;
    }
  }

  /** Frames of a recorded episode: what Drawing draws, at any time between 0 and the last step. */
  class EpisodeFrames {
    constructor(episode) {
      this.episode = episode;
      this.count = episode.states.length;
      this.tracks = episode.scene ? episode.scene.particles : [];
      this.points = episode.clouds.map(({ points }) => new Float32Array(points.shape[1] * 2));
      this.trails = (episode.scene ? episode.scene.trails : []).map(({ x, y, role }) => {
        const all = new Float32Array(2 * this.count);
        for (let i = 0; i < this.count; i++) {
          const state = episode.states.row(i);
          all[2 * i] = state[x];
          all[2 * i + 1] = state[y];
        }
        return { role, all };
      });
      this.macrosOfPlan = episode.plans.map((plan) => this.macros(plan));
    }

    macros(plan) {
      if (!plan.paths) return [];
      const { of } = Drawing.shades(plan.values ? plan.values.values : [plan.value]);
      return of.map((shade, number) => ({
        path: plan.paths.row(number).subarray(0, 2 * (plan.lengths.values[number] + 1)),
        shade,
        chosen: number === plan.choice,
      }));
    }

    planAt(time) {
      return this.episode.plan_of_frame[Math.min(Math.floor(time), this.count - 1)];
    }

    at(time, shown, marked) {
      const { episode } = this;
      const last = this.count - 1;
      const step = Math.min(Math.floor(time), last);
      const share = step < last && !STILL.matches ? time - step : 0;
      const sprites = episode.sprites[step].map((shape, i) =>
        Drawing.between(shape, share > 0 ? episode.sprites[step + 1][i] : null, share)
      );
      return {
        sprites,
        clouds: shown.particles ? episode.clouds.map((cloud, i) => this.cloud(cloud, i, step, share)) : [],
        trails: shown.trail ? this.trails.map((trail) => this.trail(trail, step, share)) : [],
        macros: shown.macros && step < last ? this.macrosOfPlan[episode.plan_of_frame[step]] : [],
        marked,
      };
    }

    cloud({ low, high, points }, number, step, share) {
      const now = points.row(step);
      const next = share > 0 ? points.row(step + 1) : now;
      const target = this.points[number];
      const [lowX, lowY] = low.values;
      const scaleX = (high.values[0] - lowX) / 65535;
      const scaleY = (high.values[1] - lowY) / 65535;
      for (let i = 0; i < target.length; i += 2) {
        target[i] = lowX + scaleX * (now[i] + share * (next[i] - now[i]));
        target[i + 1] = lowY + scaleY * (now[i + 1] + share * (next[i + 1] - now[i + 1]));
      }
      return { role: this.tracks[number].role, points: target };
    }

    trail({ role, all }, step, share) {
      if (share === 0) return { role, points: all.subarray(0, 2 * step + 2) };
      const points = all.slice(0, 2 * step + 4);
      for (const i of [2 * step + 2, 2 * step + 3]) points[i] = all[i - 2] + share * (all[i] - all[i - 2]);
      return { role, points };
    }
  }

  /** An episode with its drawing, numbers, charts and search tree. */
  class Panel {
    constructor(recording, episode, { onSeek, tooltip }) {
      Object.assign(this, { recording, episode, tooltip });
      this.frames = new EpisodeFrames(episode);
      this.length = this.frames.count - 1;
      this.marked = null;
      this.shownPlan = null;
      this.nextTree = 0;
      this.shownStep = null;
      this.returns = episode.rewards.reduce((sums, reward) => [...sums, sums[sums.length - 1] + reward], [0]);
      this.element = make("section", "panel");
      this.element.setAttribute("aria-label", `${plannerName(recording.planner)}, episode ${episode.episode}`);
      const sight = make("div", "sight");
      const insight = make("div", "insight");
      sight.append(...this.makeStage());
      this.charts = this.makeCharts(onSeek);
      insight.append(...this.charts.map(({ element }) => element), this.makeTree());
      this.element.append(this.makeHead(), this.makeNumbers(), sight, insight);
    }

    makeHead() {
      const { recording, episode } = this;
      const head = make("div", "head");
      this.badge = make("span", `badge ${episode.outcome}`);
      head.append(make("h2", "", plannerName(recording.planner)), make("span", "about", plannerAbout(recording.planner)), this.badge);
      return head;
    }

    makeStage() {
      const box = make("div", "stage");
      const { scene } = this.episode;
      if (!scene) {
        box.append(make("p", "note", "This task does not say what it looks like (Task.scene), so there are only its numbers."));
        return [box];
      }
      this.canvas = make("canvas");
      this.canvas.setAttribute("role", "img");
      box.append(this.canvas);
      this.stage = new Drawing.Stage(this.canvas, scene);
      this.canvas.addEventListener("pointermove", (event) => this.hover(event));
      this.canvas.addEventListener("pointerleave", () => {
        this.tooltip.hide();
        this.mark(null);
      });
      new ResizeObserver(() => this.stage.resize() && this.redraw()).observe(this.canvas);
      if (!this.episode.plans.some(({ paths }) => paths)) return [box];
      this.scale = make("div", "scale");
      this.scaleLow = make("span", "end");
      this.scaleHigh = make("span", "end");
      this.ramp = make("span", "ramp");
      this.scale.append(make("span", "", "value"), this.scaleLow, this.ramp, this.scaleHigh, make("span", "word", "of each macro-action; bright: chosen"));
      return [box, this.scale];
    }

    makeNumbers() {
      const list = make("dl", "numbers");
      this.numbers = {};
      for (const name of ["step", "return", "reward", "value", "bounds", "planned in", "search", "observed"]) {
        const cell = make("div");
        this.numbers[name] = make("dd", name, "–");
        cell.append(make("dt", "", name), this.numbers[name]);
        list.append(cell);
      }
      return list;
    }

    makeCharts(onSeek) {
      const { episode } = this;
      const plans = episode.plan_of_frame.map((number) => episode.plans[number]);
      const bounded = plans.every(({ lower, upper }) => lower !== null && upper !== null);
      const band = bounded ? [plans.map(({ lower }) => lower), plans.map(({ upper }) => upper)] : null;
      const chart = (title, series) => new Charts.LineChart(title, series, onSeek, this.tooltip);
      return [
        chart(bounded ? "Value, with its bounds" : "Value", [
          { name: "value", colour: "--line-value", values: plans.map(({ value }) => value), band },
        ]),
        chart("Return so far", [{ name: "return", colour: "--line-return", values: this.returns, band: null }]),
        chart("Belief", [
          { name: "spread", colour: "--line-spread", values: episode.belief_spreads, band: null },
          { name: "error", colour: "--line-error", values: episode.belief_errors, band: null },
        ]),
      ];
    }

    makeTree() {
      const box = make("details", "tree-box");
      if (!this.episode.plans.some(({ tree }) => tree)) return box;
      box.open = true;
      const summary = make("summary", "", "Search tree ");
      this.treeAbout = make("span");
      summary.append(this.treeAbout);
      this.tree = new Trees.TreeView((macro) => this.mark(macro));
      box.append(summary, this.tree.element);
      return box;
    }

    setTheme(theme) {
      this.colours = PALETTE[theme];
      const { low, middle, high } = this.colours;
      this.stage?.setTheme(theme);
      if (this.ramp) this.ramp.style.background = `linear-gradient(to right, ${low}, ${middle}, ${high})`;
      if (this.tree && this.shownPlan !== null) this.tree.recolour(this.macroColours(this.episode.plans[this.shownPlan]));
    }

    macroColours(plan) {
      const { of } = Drawing.shades(plan.values ? plan.values.values : [plan.value]);
      return of.map((shade) => Drawing.shadeColour(this.colours, shade));
    }

    /** Show a moment: a step, or a time between two. */
    show(time, shown) {
      Object.assign(this, { time, shown });
      const step = Math.min(Math.floor(time), this.length);
      if (step !== this.shownStep) this.showStep(step);
      this.redraw();
      for (const chart of this.charts) chart.setCursor(time);
    }

    redraw() {
      if (this.stage && this.shown) this.stage.draw(this.frames.at(this.time, this.shown, this.marked));
    }

    showStep(step) {
      this.shownStep = step;
      const { episode, numbers } = this;
      const number = this.frames.planAt(step);
      const plan = episode.plans[number];
      const ended = step === this.length;
      numbers.step.textContent = `${step} of ${this.length}`;
      numbers.return.textContent = short(this.returns[step]);
      numbers.reward.textContent = step > 0 ? short(episode.rewards[step - 1]) : "–";
      const observed = step > 0 ? Array.from(episode.observations.row(step - 1), brief).join("  ") : "–";
      numbers.observed.textContent = numbers.observed.title = observed;
      this.badge.textContent = ended ? `${episode.outcome}, return ${short(episode.return)}` : "running";
      this.badge.className = `badge ${ended ? episode.outcome : ""}`;
      this.canvas?.setAttribute(
        "aria-label",
        `Drawing of ${this.recording.task.name} at step ${step}: return ${short(this.returns[step])}, ` +
          `belief error ${short(episode.belief_errors[step])}${ended ? `, ${episode.outcome}` : ""}`
      );
      if (number !== this.shownPlan) this.showPlan(number, plan);
    }

    showPlan(number, plan) {
      this.shownPlan = number;
      this.marked = null;
      const { numbers } = this;
      numbers.value.textContent = short(plan.value);
      numbers.bounds.textContent = plan.lower === null ? "none" : `${short(plan.lower)} … ${short(plan.upper)}`;
      numbers["planned in"].textContent = `${(1000 * plan.seconds).toFixed(plan.seconds < 0.01 ? 1 : 0)} ms`;
      numbers.search.textContent = `${plan.depth} deep`;
      const { low, best } = Drawing.shades(plan.values ? plan.values.values : [plan.value]);
      if (this.scale) [this.scaleLow.textContent, this.scaleHigh.textContent] = [short(low), short(best)];
      this.showTree(plan);
    }

    /** A tree is much to lay out: while plans follow each other fast, only some of them, and always the last. */
    showTree(plan) {
      if (!this.tree || !plan.tree) return;
      clearTimeout(this.treeWaits);
      const now = performance.now();
      if (now < this.nextTree) {
        this.treeWaits = setTimeout(() => this.showTree(plan), this.nextTree - now);
        return;
      }
      this.nextTree = now + TREE_PAUSE;
      const many = (count) => count.toLocaleString("en");
      this.treeAbout.textContent = `at step ${plan.time}: ${many(plan.nodes)} nodes, ${many(plan.trials)} trials, ${many(plan.steps)} steps, ${plan.stopped_by}`;
      this.tree.show(plan.tree, plan.choice, this.macroColours(plan), this.macroNames(plan));
    }

    /** "3 ↗" for a macro-action that goes somewhere, else its number and its first action. */
    macroNames(plan) {
      const arrows = ["→", "↗", "↑", "↖", "←", "↙", "↓", "↘"];
      return Array.from(plan.lengths.values, (length, number) => {
        const path = plan.paths?.row(number);
        const dx = path ? path[2 * length] - path[0] : 0;
        const dy = path ? path[2 * length + 1] - path[1] : 0;
        const moved = Math.abs(dx) + Math.abs(dy) > 1e-9;
        const first = Array.from(plan.macro_actions.row(number).subarray(0, plan.macro_actions.shape[2]), brief);
        const what = moved ? arrows[(Math.round((4 * Math.atan2(dy, dx)) / Math.PI) + 8) % 8] : `(${first.join(", ")})`;
        return `${number} ${what}${length > 1 ? ` ×${length}` : ""}`;
      });
    }

    mark(macro) {
      if (macro === this.marked) return;
      this.marked = macro;
      this.tree?.showMark(macro);
      this.redraw();
    }

    hover(event) {
      const [x, y] = this.stage.toWorld(event.clientX, event.clientY);
      const { macros } = this.frames.at(this.time, { ...this.shown, particles: false, trail: false }, null);
      const macro = this.stage.macroAt(macros, event.clientX, event.clientY);
      this.mark(macro);
      const plan = this.episode.plans[this.shownPlan];
      const lines = [`x ${short(x)}, y ${short(y)}`];
      if (macro !== null) {
        lines.unshift(`macro-action ${this.macroNames(plan)[macro]}${macro === plan.choice ? ", chosen" : ""}`);
        if (plan.values) lines.splice(1, 0, `value ${short(plan.values.values[macro])}`);
        if (plan.uppers) lines.splice(2, 0, `upper bound ${short(plan.uppers.values[macro])}`);
      }
      this.tooltip.show(event, lines.join("\n"));
    }
  }

  /** Time that runs, stops and jumps. `onChange(time)` is called whenever it is another one. */
  class Clock {
    constructor(onChange) {
      Object.assign(this, { onChange, time: 0, length: 0, playing: false, speed: 4 });
      this.tick = this.tick.bind(this);
    }

    seek(time) {
      this.time = Math.min(this.length, Math.max(0, time));
      this.onChange(this.time);
    }

    /** To the next whole step in a direction; stops playing. */
    step(by) {
      this.pause();
      this.seek(by > 0 ? Math.floor(this.time + 1e-9) + by : Math.ceil(this.time - 1e-9) + by);
    }

    play() {
      if (this.playing) return;
      if (this.time >= this.length) this.time = 0;
      this.playing = true;
      this.last = null;
      requestAnimationFrame(this.tick);
      this.onChange(this.time);
    }

    pause() {
      if (!this.playing) return;
      this.playing = false;
      this.seek(Math.floor(this.time));
    }

    toggle() {
      if (this.playing) this.pause();
      else this.play();
    }

    tick(now) {
      if (!this.playing) return;
      const passed = this.last === null ? 0 : Math.min(now - this.last, 250) / 1000;
      this.last = now;
      this.time = Math.min(this.length, this.time + passed * this.speed);
      if (this.time >= this.length) this.playing = false;
      this.onChange(this.time);
      if (this.playing) requestAnimationFrame(this.tick);
    }
  }

  return { Clock, Panel, Tooltip, make, plannerAbout, plannerName };
})();
