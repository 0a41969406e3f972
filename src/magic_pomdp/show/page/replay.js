// The page that replays recordings: what is shown, and how it is controlled.
(() => {
  const { make, plannerAbout, plannerName } = Players;
  const SPEEDS = [1, 2, 4, 8, 16, 32];
  const KEYS = [
    ["Space", "play or pause"],
    ["← →", "one step back or on"],
    ["Home End", "first or last step"],
    ["P N", "previous or next episode"],
    ["− +", "slower or faster"],
    ["B M W", "belief, macro-actions, way: show or hide"],
    ["T", "light or dark"],
    ["?", "these keys"],
  ];

  class Page {
    constructor(recordings) {
      this.recordings = recordings;
      this.panels = [];
      this.shown = { particles: true, macros: true, trail: true };
      this.tooltip = new Players.Tooltip(document.getElementById("tooltip"));
      this.clock = new Players.Clock((time) => this.update(time));
      this.left = 0;
      const beside = recordings.findIndex(({ task }, number) => number > 0 && task.name === recordings[0].task.name);
      this.right = beside > 0 ? beside : null;
      this.place = 0;
      this.makeChoices();
      this.makeControls();
      this.switchTheme = Controls.themeAndKeys(document.getElementById("choices"), KEYS, (theme) =>
        this.setTheme(theme)
      );
      this.listen();
      this.open();
    }

    // ------------------------------------------------------------------------------------------- what is shown

    /** The numbers of the episodes that can be shown: with two recordings, those that both have. */
    episodes() {
      const of = (number) => this.recordings[number].episodes.map(({ episode }) => episode);
      if (this.right === null) return of(this.left);
      const both = of(this.left).filter((episode) => of(this.right).includes(episode));
      return both.length > 0 ? both : of(this.left);
    }

    /** Show the chosen recordings' chosen episode, from its beginning. */
    open() {
      this.clock.pause();
      const episodes = this.episodes();
      this.place = Math.min(this.place, episodes.length - 1);
      const number = episodes[this.place];
      const sides = this.right === null ? [this.left] : [this.left, this.right];
      this.panels = sides.map((side) => {
        const recording = this.recordings[side];
        const episode = recording.episodes.find((one) => one.episode === number) || recording.episodes[0];
        return new Players.Panel(recording, episode, { onSeek: (step) => this.seek(step), tooltip: this.tooltip });
      });
      const main = document.getElementById("panels");
      main.className = this.panels.length > 1 ? "two" : "one";
      main.replaceChildren(...this.panels.map(({ element }) => element));
      for (const panel of this.panels) {
        panel.setTheme(this.theme);
        panel.stage?.resize();
      }
      this.clock.length = Math.max(...this.panels.map(({ length }) => length));
      this.scrub.max = this.clock.length;
      this.fillChoices(episodes);
      const { task, seed } = this.recordings[this.left];
      document.getElementById("title").textContent = task.name;
      document.getElementById("subtitle").textContent = `Episode ${number} of seed ${seed}, ${this.panels
        .map(
          ({ recording, episode }) =>
            `${plannerName(recording.planner)}: ${episode.outcome}, return ${Charts.short(episode.return)}`
        )
        .join(" · ")}`;
      this.clock.seek(0);
    }

    seek(step) {
      this.clock.pause();
      this.clock.seek(step);
    }

    update(time) {
      for (const panel of this.panels) panel.show(Math.min(time, panel.length), this.shown);
      const step = Math.floor(time + 1e-9);
      const text = `step ${step} of ${this.clock.length}`;
      this.scrub.value = time;
      if (this.output.textContent !== text) {
        this.output.textContent = text;
        this.scrub.setAttribute("aria-valuetext", text);
      }
      if (this.showsPlaying !== this.clock.playing) this.showPlaying(this.clock.playing);
    }

    showPlaying(playing) {
      this.showsPlaying = playing;
      Controls.showPlaying(this.playButton, playing);
    }

    setTheme(theme) {
      this.theme = theme;
      for (const panel of this.panels) {
        panel.setTheme(theme);
        panel.redraw();
      }
    }

    // ------------------------------------------------------------------------------------------------- choices

    makeChoices() {
      const names = this.recordings.map(({ planner, task }) => {
        const same = this.recordings.every((other) => other.task.name === task.name);
        const about = plannerAbout(planner);
        return `${same ? "" : `${task.name}: `}${plannerName(planner)}${about ? ` (${about})` : ""}`;
      });
      const box = document.getElementById("choices");
      this.episodeSelect = Controls.select(box, "episode", "episode");
      this.leftSelect = Controls.select(box, "planner", "left");
      this.rightSelect = Controls.select(box, "beside it", "right");
      names.forEach((name, i) => {
        this.leftSelect.add(new Option(name, i));
        this.rightSelect.add(new Option(name, i));
      });
      this.rightSelect.add(new Option("nothing", "none"), 0);
      for (const one of [this.leftSelect, this.rightSelect]) one.parentElement.hidden = this.recordings.length < 2;
      this.episodeSelect.addEventListener("change", () => this.openEpisode(Number(this.episodeSelect.value)));
      this.leftSelect.addEventListener("change", () => {
        this.left = Number(this.leftSelect.value);
        this.open();
      });
      this.rightSelect.addEventListener("change", () => {
        this.right = this.rightSelect.value === "none" ? null : Number(this.rightSelect.value);
        this.open();
      });
    }

    fillChoices(episodes) {
      const outcomes = (number) =>
        this.panels.length === 1 && this.recordings[this.left].episodes.find(({ episode }) => episode === number);
      this.episodeSelect.replaceChildren(
        ...episodes.map((number, place) => {
          const episode = outcomes(number);
          return new Option(
            episode ? `${number}: ${episode.outcome}, ${Charts.short(episode.return)}` : `${number}`,
            place
          );
        })
      );
      this.episodeSelect.value = this.place;
      this.leftSelect.value = this.left;
      this.rightSelect.value = this.right === null ? "none" : this.right;
    }

    openEpisode(place) {
      const count = this.episodes().length;
      this.place = Math.min(count - 1, Math.max(0, place));
      this.open();
    }

    // ------------------------------------------------------------------------------------------------ controls

    makeControls() {
      const box = document.getElementById("controls");
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Playback");
      const buttons = make("div", "buttons");
      const button = (...about) => {
        const one = Controls.button(...about);
        buttons.append(one);
        return one;
      };
      button("first", "First step", "Home", () => this.seek(0));
      button("back", "One step back", "←", () => this.clock.step(-1));
      this.playButton = button("play", "Play", "Space", () => this.clock.toggle());
      button("forward", "One step on", "→", () => this.clock.step(1));
      button("last", "Last step", "End", () => this.seek(this.clock.length));
      const scrubbing = make("div", "scrub");
      this.scrub = make("input");
      Object.assign(this.scrub, { type: "range", id: "scrub", min: 0, step: "any", value: 0 });
      this.scrub.setAttribute("aria-label", "Step");
      this.scrub.addEventListener("input", () => this.seek(Math.round(Number(this.scrub.value))));
      this.output = make("output");
      this.output.id = "step";
      this.output.setAttribute("for", "scrub");
      scrubbing.append(this.scrub, this.output);
      this.speedSelect = make("select");
      this.speedSelect.id = "speed";
      this.speedSelect.setAttribute("aria-label", "Speed");
      for (const speed of SPEEDS) this.speedSelect.add(new Option(`${speed} steps/s`, speed));
      this.speedSelect.value = this.clock.speed;
      this.speedSelect.addEventListener("change", () => (this.clock.speed = Number(this.speedSelect.value)));
      const { element, checks } = Controls.shows((name, checked) => {
        this.shown = { ...this.shown, [name]: checked };
        this.update(this.clock.time);
      });
      this.checks = checks;
      box.append(buttons, scrubbing, this.speedSelect, element);
    }

    changeSpeed(by) {
      const place = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.clock.speed) + by));
      this.clock.speed = SPEEDS[place];
      this.speedSelect.value = SPEEDS[place];
    }

    listen() {
      // on a page with more than a replay, the keys are the replay's only while something of it has the focus
      const replaying = document.getElementById("replaying") || document;
      Controls.listen(replaying, {
        ArrowLeft: () => this.clock.step(-1),
        ArrowRight: () => this.clock.step(1),
        Home: () => this.seek(0),
        End: () => this.seek(this.clock.length),
        " ": () => this.clock.toggle(),
        p: () => this.openEpisode(this.place - 1),
        n: () => this.openEpisode(this.place + 1),
        "-": () => this.changeSpeed(-1),
        "+": () => this.changeSpeed(1),
        "=": () => this.changeSpeed(1),
        b: () => this.checks.particles.click(),
        m: () => this.checks.macros.click(),
        w: () => this.checks.trail.click(),
        t: () => this.switchTheme(),
        "?": () => document.getElementById("keys").showModal(),
      });
    }
  }

  Data.unpack(document.getElementById("data").textContent)
    .then((recordings) => (window.replay = new Page(recordings)))
    .catch((error) => {
      document.getElementById("subtitle").textContent = `This page cannot be shown: ${error.message}`;
      throw error;
    });
})();
