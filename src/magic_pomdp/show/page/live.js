// The page on which the planner runs now: it shows what the server tells, and tells the server what a person wants.
(() => {
  const { Tooltip, make, plannerName } = Panels;
  const PACES = [1, 2, 4, 8, 16];
  const FULL_PACE = 1000;
  const BUDGETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
  const KEYS = [
    ["Space", "run or pause"],
    ["→", "one step"],
    ["N", "new episode"],
    ["− +", "slower or faster"],
    ["G", "take hold of the next thing; then the arrows move it"],
    ["B M W", "belief, macro-actions, way: show or hide"],
    ["T", "light or dark"],
    ["?", "these keys"],
  ];

  class Page {
    constructor() {
      this.tooltip = new Tooltip(document.getElementById("tooltip"));
      this.panel = new Live.LivePanel(this.tooltip, (handle, x, y) => this.send({ kind: "move", handle, x, y }));
      this.panel.shown = { particles: true, macros: true, trail: true };
      document.getElementById("panels").append(this.panel.element);
      this.makeChoices();
      this.makeControls();
      const box = document.getElementById("choices");
      const switchTheme = Controls.themeAndKeys(box, KEYS, (theme) => this.panel.setTheme(theme));
      Controls.listen(document, {
        " ": () => this.toggle(),
        ArrowRight: () => this.send({ kind: "step" }),
        n: () => this.send({ kind: "new" }),
        "-": () => this.changePace(-1),
        "+": () => this.changePace(1),
        "=": () => this.changePace(1),
        g: () => this.panel.focusNext(),
        b: () => this.checks.particles.click(),
        m: () => this.checks.macros.click(),
        w: () => this.checks.trail.click(),
        t: switchTheme,
        "?": () => document.getElementById("keys").showModal(),
      });
      this.connect();
    }

    // ------------------------------------------------------------------------------------------------ the server

    connect() {
      this.socket = new WebSocket(`ws://${location.host}/live${location.search}`);
      this.socket.addEventListener("open", () => (this.delay = 300));
      this.socket.addEventListener("message", ({ data }) => this.update(Data.parse(data)));
      this.socket.addEventListener("close", () => {
        this.say("The connection is lost; trying again … (A server that is started anew has another address.)");
        this.delay = Math.min(3000, 1.5 * (this.delay || 300));
        setTimeout(() => this.connect(), this.delay);
      });
    }

    send(message) {
      if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
    }

    say(text) {
      document.getElementById("subtitle").textContent = text;
    }

    update({ about, settings, episode, scene, rows, frame, plan, trouble }) {
      const { panel } = this;
      if (about) this.showAbout(about);
      if (settings) this.showSettings(settings);
      if (episode) {
        this.episode = episode;
        panel.beginEpisode();
      }
      if (scene !== undefined) panel.showScene(scene);
      if (rows) panel.showRows(rows);
      if (frame) panel.showFrame(frame);
      if (plan && panel.now) panel.showPlan(plan);
      if (this.episode) this.say(`Live: episode ${this.episode.number} of seed ${this.episode.seed}`);
      else this.say("Preparing the planner; the first time it is compiled, which takes a minute or two …");
      if (trouble !== undefined) this.showTrouble(trouble);
    }

    showAbout({ task, planners, limits }) {
      if (this.task !== undefined && this.task !== task) location.reload(); // another server has taken this one's place
      this.task = task;
      document.getElementById("title").textContent = task;
      this.withLength = new Set(planners.filter(({ has_length }) => has_length).map(({ name }) => name));
      this.planner.replaceChildren(...planners.map((planner) => new Option(plannerName(planner), planner.name)));
      [this.length.min, this.length.max] = limits.macro_length;
    }

    showSettings(settings) {
      this.settings = settings;
      const { planner, playing, pace, preparing } = settings;
      const { seconds } = planner.budget;
      if (![...this.budget.options].some(({ value }) => Number(value) === seconds))
        this.budget.add(new Option(`${seconds} s`, seconds), 0);
      this.planner.value = planner.name;
      this.budget.value = seconds;
      if (document.activeElement !== this.length) this.length.value = planner.macro_length;
      this.length.disabled = !this.withLength.has(planner.name);
      this.paceSelect.value = pace;
      for (const one of [this.planner, this.budget]) one.disabled = preparing !== null;
      Controls.showPlaying(this.playButton, playing);
      this.panel.showSettings(settings);
    }

    showTrouble(sentence) {
      const element = document.getElementById("trouble");
      element.hidden = !sentence;
      element.textContent = sentence || "";
      if (sentence && this.settings) this.length.value = this.settings.planner.macro_length;
    }

    // -------------------------------------------------------------------------------------------------- controls

    makeChoices() {
      const box = document.getElementById("choices");
      this.planner = Controls.select(box, "planner", "planner");
      this.budget = Controls.select(box, "time for a plan", "budget");
      for (const seconds of BUDGETS) this.budget.add(new Option(`${seconds} s`, seconds));
      const label = make("label", "", "macro length");
      this.length = make("input");
      Object.assign(this.length, {
        type: "number",
        id: "length",
        min: 1,
        max: 60,
        step: 1,
        required: true,
        inputMode: "numeric",
      });
      label.append(this.length);
      box.append(label);
      this.planner.addEventListener("change", () => this.changePlanner(null));
      this.budget.addEventListener("change", () => this.changePlanner(this.settings.planner.macro_length));
      this.length.addEventListener(
        "change",
        () => this.length.reportValidity() && this.changePlanner(Number(this.length.value))
      );
    }

    /** Ask for the chosen planner; without a length, for the task's own. */
    changePlanner(length) {
      const planner = this.planner.value;
      const macro_length = this.withLength.has(planner) ? length : null;
      this.send({ kind: "plan", planner, seconds: Number(this.budget.value), macro_length });
    }

    makeControls() {
      const box = document.getElementById("controls");
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Running");
      const buttons = make("div", "buttons");
      this.playButton = Controls.button("play", "Play", "Space", () => this.toggle());
      const anew = Controls.button("anew", "New episode", "N", () => this.send({ kind: "new" }));
      anew.append("New episode");
      buttons.append(
        this.playButton,
        Controls.button("forward", "One step on", "→", () => this.send({ kind: "step" })),
        anew
      );
      this.paceSelect = make("select");
      this.paceSelect.id = "pace";
      this.paceSelect.setAttribute("aria-label", "Speed");
      for (const pace of PACES) this.paceSelect.add(new Option(`${pace} steps/s`, pace));
      this.paceSelect.add(new Option("full speed", FULL_PACE));
      this.paceSelect.addEventListener("change", () =>
        this.send({ kind: "pace", pace: Number(this.paceSelect.value) })
      );
      const { element, checks } = Controls.shows((name, checked) => {
        this.panel.shown = { ...this.panel.shown, [name]: checked };
        this.panel.redraw();
      });
      this.checks = checks;
      box.append(buttons, this.paceSelect, element);
    }

    toggle() {
      this.send({ kind: this.settings?.playing ? "pause" : "play" });
    }

    changePace(by) {
      const paces = [...PACES, FULL_PACE];
      const place = Math.min(paces.length - 1, Math.max(0, paces.indexOf(this.settings.pace) + by));
      this.send({ kind: "pace", pace: paces[place] });
    }
  }

  window.live = new Page();
})();
