// One recorded episode of one planner as a panel that can show any moment, and a clock that several panels follow in step.
const Players = (() => {
  const { short } = Charts;
  const { HELP, PlanPanel, Tooltip, brief, macrosOf, make, plannerAbout, plannerName } = Panels;
  const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

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
      this.macrosOfPlan = episode.plans.map(macrosOf);
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
  class Panel extends PlanPanel {
    constructor(recording, episode, { onSeek, tooltip }) {
      super(tooltip);
      Object.assign(this, { recording, episode });
      this.frames = new EpisodeFrames(episode);
      this.length = this.frames.count - 1;
      this.shownPlan = null;
      this.shownStep = null;
      this.returns = [0];
      for (const reward of episode.rewards) this.returns.push(this.returns[this.returns.length - 1] + reward);
      this.element = make("section", "panel");
      this.element.setAttribute("aria-label", `${plannerName(recording.planner)}, episode ${episode.episode}`);
      const sight = make("div", "sight");
      const insight = make("div", "insight");
      sight.append(
        ...this.makeStage(
          episode.scene,
          episode.plans.some(({ paths }) => paths)
        )
      );
      if (episode.pictures?.length) sight.append(this.makePicture());
      this.charts = this.makeCharts(onSeek);
      insight.append(
        ...this.charts.map(({ element }) => element),
        this.makeTree(episode.plans.some(({ tree }) => tree))
      );
      const numbers = this.makeNumbers(
        "step",
        "return",
        "reward",
        "value",
        "bounds",
        "planned in",
        "choices up to",
        "observed"
      );
      this.element.append(this.makeHead(), numbers, sight, insight);
    }

    /** What the world's camera saw, below the drawing. */
    makePicture() {
      const box = make("div", "stage");
      this.picture = make("img");
      this.picture.alt = "What the camera saw";
      box.append(this.picture);
      return box;
    }

    makeHead() {
      const { recording, episode } = this;
      const head = make("div", "head");
      this.badge = make("span", `badge ${episode.outcome}`);
      head.append(
        make("h2", "", plannerName(recording.planner)),
        make("span", "about", plannerAbout(recording.planner)),
        this.badge
      );
      return head;
    }

    makeCharts(onSeek) {
      const { episode } = this;
      const plans = episode.plan_of_frame.map((number) => episode.plans[number]);
      const bounded = plans.some(({ lower, upper }) => lower !== null && upper !== null);
      const band = bounded ? [plans.map(({ lower }) => lower), plans.map(({ upper }) => upper)] : null;
      const known = episode.belief_errors.every((error) => error !== null);
      const explained = (series) => series.map((one) => ({ ...one, help: HELP[one.name] }));
      const chart = (title, series) => new Charts.LineChart(title, explained(series), onSeek, this.tooltip);
      return [
        chart(bounded ? "Value, with its bounds" : "Value", [
          { name: "value", colour: "--line-value", values: plans.map(({ value }) => value), band },
        ]),
        chart("Return so far", [{ name: "return", colour: "--line-return", values: this.returns, band: null }]),
        chart("Belief", [
          { name: "spread", colour: "--line-spread", values: episode.belief_spreads, band: null },
          // a world that does not tell the truth leaves the error unknown
          ...(known ? [{ name: "error", colour: "--line-error", values: episode.belief_errors, band: null }] : []),
        ]),
      ];
    }

    /** Show a moment: a step, or a time between two. */
    show(time, shown) {
      Object.assign(this, { time, shown });
      const step = Math.min(Math.floor(time), this.length);
      if (step !== this.shownStep) this.showStep(step);
      this.redraw();
      for (const chart of this.charts) chart.setCursor(time);
    }

    frame() {
      return this.shown && this.frames.at(this.time, this.shown, this.marked);
    }

    macros() {
      return this.frames.at(this.time, { ...this.shown, particles: false, trail: false }, null).macros;
    }

    showStep(step) {
      this.shownStep = step;
      const { episode, numbers } = this;
      const number = this.frames.planAt(step);
      const plan = episode.plans[number];
      const ended = step === this.length;
      const error = episode.belief_errors[step];
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
          `belief error ${error === null ? "unknown" : short(error)}${ended ? `, ${episode.outcome}` : ""}`
      );
      if (this.picture) this.picture.src = `data:image/jpeg;base64,${episode.pictures[step]}`;
      if (number !== this.shownPlan) this.showPlan(plan);
      this.shownPlan = number;
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
