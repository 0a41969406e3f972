// The first levels of a search tree as a list that opens and closes: macro-actions, and what may be observed after each.
//
// tree: columns {parent, macro, value, upper, share, size}; macro is −1 for a node (a belief), parent −1 for the root.
const Trees = (() => {
  const { short } = Charts;

  class TreeView {
    /** onMark(macro | null) is called when a macro-action of the root is pointed at, or no longer. */
    constructor(onMark) {
      this.onMark = onMark;
      this.element = document.createElement("div");
      this.element.className = "tree";
      this.list = document.createElement("ul");
      this.list.setAttribute("role", "tree");
      this.list.setAttribute("aria-label", "Search tree");
      this.element.append(this.list);
      this.open = new Set();
      this.focused = null;
      this.list.addEventListener("keydown", (event) => this.key(event));
      this.list.addEventListener("click", (event) => this.click(event));
      this.list.addEventListener("pointerover", (event) => this.mark(event.target));
      this.list.addEventListener("pointerleave", () => this.onMark(null));
      this.list.addEventListener("focusin", (event) => {
        this.setFocus(event.target);
        this.mark(event.target);
      });
      this.list.addEventListener("focusout", () => this.onMark(null));
    }

    /** Show another tree. colours[macro] and names[macro] belong to the macro-actions of the set. */
    show(tree, choice, colours, names) {
      Object.assign(this, { tree, choice, colours, names });
      const hadFocus = this.list.contains(document.activeElement);
      const before = this.focused;
      this.below = tree.parent.map(() => []);
      tree.parent.forEach((parent, item) => {
        if (parent >= 0) this.below[parent].push(item);
      });
      this.list.replaceChildren(...this.below[0].map((item) => this.entry(item, 1, "")));
      const all = this.visible();
      const focused = all.find((entry) => entry.dataset.key === before) || all[0];
      if (focused) {
        this.setFocus(focused);
        if (hadFocus) focused.focus({ preventScroll: true });
      }
    }

    recolour(colours) {
      this.colours = colours;
      for (const dot of this.list.querySelectorAll(".dot[data-macro]"))
        dot.style.background = colours[dot.dataset.macro];
    }

    entry(item, level, above) {
      const { tree } = this;
      const macro = tree.macro[item];
      const isNode = macro < 0;
      const place = isNode ? this.below[tree.parent[item]].indexOf(item) : macro;
      const key = `${above}/${isNode ? "o" : "m"}${place}`;
      const entry = document.createElement("li");
      entry.setAttribute("role", "treeitem");
      entry.setAttribute("aria-level", level);
      entry.tabIndex = -1;
      Object.assign(entry.dataset, { key, item, level });
      if (level === 1) entry.dataset.macro = macro;
      const row = document.createElement("div");
      row.className = "row";
      const twist = document.createElement("span");
      twist.className = "twist";
      twist.setAttribute("aria-hidden", "true");
      const dot = document.createElement("span");
      dot.className = isNode ? "dot observed" : "dot";
      if (!isNode) {
        dot.dataset.macro = macro;
        dot.style.background = this.colours[macro];
      }
      const what = document.createElement("span");
      what.className = "what";
      what.textContent = isNode
        ? `observation ${place + 1}, ${Math.round(100 * this.chance(item))} %`
        : this.names[macro] + (level === 1 && macro === this.choice ? ", chosen" : "");
      if (level === 1 && macro === this.choice) entry.classList.add("chosen");
      const figures = document.createElement("span");
      figures.className = "figures";
      const value = document.createElement("b");
      value.textContent = short(tree.value[item]);
      figures.append(value);
      if (tree.upper[item] !== null) {
        const upper = document.createElement("i");
        upper.textContent = ` … ${short(tree.upper[item])}`;
        figures.append(upper);
      }
      row.append(twist, dot, what, figures);
      entry.append(row);
      if (this.below[item].length > 0) this.setOpen(entry, this.open.has(key));
      return entry;
    }

    /** How likely an observation is once the macro-action above it is taken. */
    chance(item) {
      const above = this.tree.share[this.tree.parent[item]];
      return above > 0 ? this.tree.share[item] / above : 0;
    }

    setOpen(entry, open) {
      const item = Number(entry.dataset.item);
      if (this.below[item].length === 0) return;
      entry.setAttribute("aria-expanded", open);
      entry.querySelector(".twist").textContent = open ? "▾" : "▸";
      this.open[open ? "add" : "delete"](entry.dataset.key);
      entry.querySelector(":scope > ul")?.remove();
      if (!open) return;
      const list = document.createElement("ul");
      list.setAttribute("role", "group");
      const level = Number(entry.dataset.level) + 1;
      list.append(...this.below[item].map((child) => this.entry(child, level, entry.dataset.key)));
      const hidden = this.tree.size[item] - this.below[item].length;
      if (hidden > 0) {
        const more = document.createElement("li");
        more.className = "more";
        more.setAttribute("role", "none");
        more.textContent = `and ${hidden} more that are less likely`;
        list.append(more);
      }
      entry.append(list);
    }

    visible() {
      return Array.from(this.list.querySelectorAll('[role="treeitem"]'));
    }

    setFocus(target) {
      const entry = target.closest('[role="treeitem"]');
      if (!entry) return;
      for (const other of this.list.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
      entry.tabIndex = 0;
      this.focused = entry.dataset.key;
    }

    mark(target) {
      const entry = target.closest('[data-level="1"]');
      this.onMark(entry ? Number(entry.dataset.macro) : null);
    }

    /** Show in the list what is pointed at elsewhere. */
    showMark(macro) {
      for (const row of this.list.querySelectorAll(".row.marked")) row.classList.remove("marked");
      if (macro !== null)
        this.list.querySelector(`[data-level="1"][data-macro="${macro}"] > .row`)?.classList.add("marked");
    }

    click(event) {
      const entry = event.target.closest('[role="treeitem"]');
      if (!entry) return;
      this.setOpen(entry, entry.getAttribute("aria-expanded") !== "true");
      entry.focus({ preventScroll: true });
    }

    key(event) {
      const entry = event.target.closest('[role="treeitem"]');
      if (!entry || event.ctrlKey || event.metaKey || event.altKey) return;
      const all = this.visible();
      const at = all.indexOf(entry);
      const opened = entry.getAttribute("aria-expanded");
      let next = null;
      if (event.key === "ArrowDown") next = all[at + 1];
      else if (event.key === "ArrowUp") next = all[at - 1];
      else if (event.key === "Home") next = all[0];
      else if (event.key === "End") next = all[all.length - 1];
      else if (event.key === "ArrowRight" && opened === "false") this.setOpen(entry, true);
      else if (event.key === "ArrowRight") next = opened === "true" ? all[at + 1] : null;
      else if (event.key === "ArrowLeft" && opened === "true") this.setOpen(entry, false);
      else if (event.key === "ArrowLeft") next = entry.parentElement.closest('[role="treeitem"]');
      else if (event.key === "Enter") this.setOpen(entry, opened !== "true");
      else return;
      next?.focus();
      event.preventDefault();
      event.stopPropagation();
    }
  }

  return { TreeView };
})();
