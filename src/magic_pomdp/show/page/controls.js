// What every page has: icons, a dialog that explains the keys, light and dark.
const Controls = (() => {
  const { make } = Panels;
  const ICONS = {
    first: "M5 4h2.5v16H5zM20 4v16L8.5 12z",
    back: "M6 4h3v16H6zM19 4v16l-9-8z",
    play: "M7 4v16l13-8z",
    pause: "M6 4h4.5v16H6zM13.5 4H18v16h-4.5z",
    forward: "M15 4h3v16h-3zM5 4v16l9-8z",
    last: "M16.500 4H19v16h-2.500zM4 4v16l11.500-8z",
    anew: "M12 5V1L6 6l6 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z",
  };

  function icon(name) {
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("viewBox", "0 0 24 24");
    picture.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", ICONS[name]);
    picture.append(path);
    return picture;
  }

  /** A button with an icon. */
  function button(name, label, keys, action) {
    const one = make("button", name);
    one.id = name;
    one.setAttribute("aria-label", label);
    one.title = `${label} (${keys})`;
    one.append(icon(name));
    one.addEventListener("click", action);
    return one;
  }

  /** Make a button show that something plays, or does not. */
  function showPlaying(one, playing) {
    one.replaceChildren(icon(playing ? "pause" : "play"));
    one.setAttribute("aria-label", playing ? "Pause" : "Play");
    one.title = `${playing ? "Pause" : "Play"} (Space)`;
  }

  /** A selection with a label, put into a box. */
  function select(box, label, id) {
    const outer = make("label", "", label);
    const inner = make("select");
    inner.id = id;
    outer.append(inner);
    box.append(outer);
    return inner;
  }

  /** Boxes to tick for what is shown: the belief, the macro-actions, the way; `onChange(name, checked)`. */
  function shows(onChange) {
    const element = make("div", "shows");
    const checks = {};
    for (const [name, text] of [
      ["particles", "belief"],
      ["macros", "macro-actions"],
      ["trail", "way"],
    ]) {
      const label = make("label");
      const check = make("input");
      Object.assign(check, { type: "checkbox", checked: true, id: `show-${name}` });
      check.addEventListener("change", () => onChange(name, check.checked));
      checks[name] = check;
      label.append(check, text);
      element.append(label);
    }
    return { element, checks };
  }

  /** Buttons for the theme and for the dialog of the keys, put into a box; `onTheme(theme)`, at once and at each change.
   *  Gives what switches the theme. */
  function themeAndKeys(box, keys, onTheme) {
    const wish = window.matchMedia("(prefers-color-scheme: dark)");
    const button = make("button");
    button.id = "theme";
    button.title = "Light or dark (T)";
    const set = (to) => {
      document.documentElement.dataset.theme = to;
      button.textContent = to === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Use ${to === "dark" ? "light" : "dark"} colours`);
      onTheme(to);
    };
    const toggle = () => set(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    button.addEventListener("click", toggle);
    wish.addEventListener("change", (event) => set(event.matches ? "dark" : "light"));
    const dialog = document.getElementById("keys");
    const help = make("button", "", "Keys");
    help.id = "show-keys";
    help.title = "What the keys do (?)";
    help.addEventListener("click", () => dialog.showModal());
    const title = make("h2", "", "Keys");
    title.id = "keys-title";
    const list = make("dl");
    for (const [names, meaning] of keys) {
      const term = make("dt");
      for (const key of names.split(" ")) term.append(make("kbd", "", key), " ");
      list.append(term, make("dd", "", meaning));
    }
    const close = make("button", "", "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.append(title, list, close);
    box.append(button, help);
    set(wish.matches ? "dark" : "light");
    return toggle;
  }

  /** Call the action of a key pressed within an element, unless what has the focus needs that key itself. */
  function listen(element, actions) {
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
      const { target } = event;
      const typing = target.tagName === "SELECT" || target.type === "number";
      const pressing = target.tagName === "BUTTON" || target.tagName === "SUMMARY" || target.type === "checkbox";
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action || typing || event.defaultPrevented || (pressing && event.key === " ")) return;
      event.preventDefault();
      action();
    });
  }

  return { button, listen, select, showPlaying, shows, themeAndKeys };
})();
