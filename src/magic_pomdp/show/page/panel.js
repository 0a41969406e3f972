// A planner's view of a task as a panel: the drawing, the numbers of a plan, its macro-action set and its search tree.
// What is drawn, and when, is up to who extends it.
const Panels = (() => {
  const { short } = Charts;
  const TREE_PAUSE = 200; // milliseconds between two trees
  const HELP = {
    return: "The plain sum of all rewards so far.",
    reward: "What the last step earned.",
    value: "What the plan expects to earn from here on, each reward discounted to now.",
    bounds: "What the best plan would earn lies between these, for the futures that the search has sampled.",
    "planned in": "How long the plan took.",
    "choices up to":
      "How many steps ahead the search still compared macro-actions. Those that begin there lead further. It is no measure of quality.",
    observed: "The last observation, number by number.",
    spread: "How far the belief's particles are from each other, in the mean.",
    error: "How far the belief's particles are from the truth, in the mean.",
    "90 % within": "Nine of ten plans of this episode took no longer.",
    simulated: "Primitive steps that the search simulates a second.",
    tree: "Each macro-action with its value … its upper bound. Open one: what may be observed after it and how likely that is. Open that: what could be done next.",
  };

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

  /** A planner as it is written; older recordings know only its name. */
  function plannerName({ name, label }) {
    return label || name;
  }

  /** What else there is to say of a planner: "length 6, 0.1 s a plan". */
  function plannerAbout({ budget, macro_length: length }) {
    const parts = [];
    if (length > 1) parts.push(`length ${length}`);
    if (budget)
      parts.push(budget.steps ? `${budget.steps.toLocaleString("en")} steps a plan` : `${budget.seconds} s a plan`);
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

  /** What Drawing draws of a plan's macro-action set. */
  function macrosOf(plan) {
    if (!plan.paths) return [];
    const { of } = Drawing.shades(plan.values ? plan.values.values : [plan.value]);
    return of.map((shade, number) => ({
      path: plan.paths.row(number).subarray(0, 2 * (plan.lengths.values[number] + 1)),
      shade,
      chosen: number === plan.choice,
    }));
  }

  /** Who extends it says what is drawn now: frame() is what Drawing draws, macros() what of it can be pointed at. */
  class PlanPanel {
    constructor(tooltip) {
      Object.assign(this, { tooltip, plan: null, marked: null, nextTree: 0 });
    }

    makeStage(scene, withPaths) {
      const box = make("div", "stage");
      if (!scene) {
        box.append(
          make("p", "note", "This task does not say what it looks like (Task.scene), so there are only its numbers.")
        );
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
      if (!withPaths) return [box];
      this.scale = make("div", "scale");
      this.scaleLow = make("span", "end");
      this.scaleHigh = make("span", "end");
      this.ramp = make("span", "ramp");
      this.scale.append(
        make("span", "", "value"),
        this.scaleLow,
        this.ramp,
        this.scaleHigh,
        make("span", "word", "of each macro-action; bright: chosen")
      );
      return [box, this.scale];
    }

    makeNumbers(...names) {
      const list = make("dl", "numbers");
      this.numbers = {};
      for (const name of names) {
        const cell = make("div");
        this.numbers[name] = make("dd", name, "–");
        if (HELP[name]) cell.title = HELP[name];
        cell.append(make("dt", "", name), this.numbers[name]);
        list.append(cell);
      }
      return list;
    }

    makeTree(withTree) {
      const box = make("details", "tree-box");
      if (!withTree) return box;
      box.open = true;
      const summary = make("summary", "", "Search tree ");
      summary.title = HELP.tree;
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
      if (this.tree && this.plan?.tree) this.tree.recolour(this.macroColours(this.plan));
    }

    macroColours(plan) {
      const { of } = Drawing.shades(plan.values ? plan.values.values : [plan.value]);
      return of.map((shade) => Drawing.shadeColour(this.colours, shade));
    }

    redraw() {
      const frame = this.stage && this.frame();
      if (frame) this.stage.draw(frame);
    }

    showPlan(plan) {
      this.plan = plan;
      this.marked = null;
      const { numbers } = this;
      numbers.value.textContent = short(plan.value);
      numbers.bounds.textContent = plan.lower === null ? "none" : `${short(plan.lower)} … ${short(plan.upper)}`;
      numbers["planned in"].textContent = `${(1000 * plan.seconds).toFixed(plan.seconds < 0.01 ? 1 : 0)} ms`;
      numbers["choices up to"].textContent = `step ${plan.depth}`;
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
      const macro = this.stage.macroAt(this.macros(), event.clientX, event.clientY);
      this.mark(macro);
      const { plan } = this;
      const lines = [`x ${short(x)}, y ${short(y)}`];
      if (macro !== null) {
        lines.unshift(`macro-action ${this.macroNames(plan)[macro]}${macro === plan.choice ? ", chosen" : ""}`);
        if (plan.values) lines.splice(1, 0, `value ${short(plan.values.values[macro])}`);
        if (plan.uppers) lines.splice(2, 0, `upper bound ${short(plan.uppers.values[macro])}`);
      }
      this.tooltip.show(event, lines.join("\n"));
    }
  }

  return { HELP, PlanPanel, Tooltip, brief, macrosOf, make, plannerAbout, plannerName };
})();
