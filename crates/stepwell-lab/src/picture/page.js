"use strict";
// Pointing shows what a mark is, a legend hides series, figures zoom, tables sort.
(() => {
  const hint = document.getElementById("hint");

  // A mark says what it is in a <title>; on the page it is shown at once instead of after a while.
  const said = (mark) => {
    const title = mark.querySelector(":scope > title");
    if (title) {
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    return mark.getAttribute("aria-label");
  };
  const show = (event) => {
    const mark = event.target.closest && event.target.closest(".marks > *");
    const text = mark && said(mark);
    hint.hidden = !text;
    if (!text) return;
    if (hint.textContent !== text) hint.textContent = text;
    const { innerWidth: width, innerHeight: height } = window;
    const left = Math.min(event.clientX + 14, width - hint.offsetWidth - 8);
    const below = event.clientY + 14 + hint.offsetHeight < height;
    hint.style.left = Math.max(8, left) + "px";
    hint.style.top = Math.max(8, below ? event.clientY + 14 : event.clientY - hint.offsetHeight - 10) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("pointerleave", () => (hint.hidden = true));

  const button = (text, label, action) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", textContent: text, title: label });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  };

  // Round values between two others, as the picture itself has them.
  const ticks = (low, high, count) => {
    const rough = (high - low) / Math.max(count, 2);
    if (!(rough > 0) || !isFinite(rough)) return [];
    const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
    const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * (1 - 1e-9));
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let k = Math.ceil(low / step); k <= Math.floor(high / step) && found.length < 50; k++)
      found.push([k * step, decimals > 6 || step >= 1e7 ? (k * step).toExponential(1) : (k * step + 0).toFixed(decimals)]);
    return found;
  };

  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg.stepwell");
    if (!svg) continue;
    const title = svg.querySelector(":scope > title");
    if (title) {
      svg.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    // The page says above what the picture is; the picture need not, nor grow beyond reason.
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const heading = svg.querySelector(":scope > text.title");
    if (heading) {
      heading.remove();
      svg.setAttribute("viewBox", `0 26 ${width} ${height - 26}`);
    }
    svg.style.maxWidth = 1.4 * width + "px";
    svg.style.minWidth = Math.min(560, width) + "px";

    for (const entry of svg.querySelectorAll(".legend .entry[data-series]")) {
      entry.setAttribute("role", "button");
      entry.setAttribute("tabindex", "0");
      entry.setAttribute("aria-pressed", "true");
      const toggle = () => {
        const off = entry.classList.toggle("off");
        entry.setAttribute("aria-pressed", String(!off));
        for (const marks of svg.querySelectorAll(`.marks[data-series="${entry.dataset.series}"]`))
          marks.classList.toggle("off", off);
      };
      entry.addEventListener("click", toggle);
      entry.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    }

    const windows = [...svg.querySelectorAll("svg.zoom")].map((box) => {
      const marks = [...box.querySelectorAll(".marks > *")].map((mark) => {
        const names = mark.hasAttribute("cx") ? ["cx", "cy"] : ["x", "y"];
        return [mark, names, +mark.getAttribute(names[0]), +mark.getAttribute(names[1])];
      });
      const [left, top, width, height] = box.getAttribute("viewBox").split(" ").map(Number);
      const lines = [...box.querySelectorAll(".lines > path")].map((path) => [path, +path.getAttribute("stroke-width")]);
      return { box, marks, lines, left, top, width, height, scale: 1, x: 0, y: 0, waiting: false };
    });
    if (!windows.length) continue;

    const axes = svg.querySelector(".axes[data-x]");
    const drawAxes = (view) => {
      const [left, top, width, height] = axes.dataset.frame.split(" ").map(Number);
      const [x0, x1] = axes.dataset.x.split(" ").map(Number);
      const [y0, y1] = axes.dataset.y.split(" ").map(Number);
      const make = (name, attributes, text) => {
        const element = document.createElementNS(svg.namespaceURI, name);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        if (text !== undefined) element.textContent = text;
        axes.append(element);
      };
      const back = (place, first, size, shift) => (first + (place - shift - first) / view.scale - first) / size;
      const lowX = x0 + (x1 - x0) * back(left, left, width, view.x);
      const highX = x0 + (x1 - x0) * back(left + width, left, width, view.x);
      const highY = y1 - (y1 - y0) * back(top, top, height, view.y);
      const lowY = y1 - (y1 - y0) * back(top + height, top, height, view.y);
      axes.replaceChildren();
      for (const [value, text] of ticks(lowX, highX, Math.floor(width / 80))) {
        const x = left + (width * (value - lowX)) / (highX - lowX);
        make("line", { class: "grid", x1: x, x2: x, y1: top, y2: top + height });
        make("text", { class: "faint middle tick", x, y: top + height + 16 }, text);
      }
      for (const [value, text] of ticks(lowY, highY, Math.floor(height / 60))) {
        const y = top + height * (1 - (value - lowY) / (highY - lowY));
        make("line", { class: "grid", x1: left, x2: left + width, y1: y, y2: y });
        make("text", { class: "faint end tick", x: left - 7, y: y + 4 }, text);
      }
    };
    // Lines are stretched, but stay as wide as they are; marks are only moved.
    const draw = (view) => {
      view.waiting = false;
      const { scale, left, top } = view;
      const dx = view.x + left * (1 - scale), dy = view.y + top * (1 - scale);
      for (const lines of view.box.querySelectorAll(".lines"))
        lines.setAttribute("transform", `translate(${dx} ${dy}) scale(${scale})`);
      for (const [path, width] of view.lines) path.setAttribute("stroke-width", width / scale);
      for (const [mark, names, x, y] of view.marks) {
        mark.setAttribute(names[0], (x * scale + dx).toFixed(2));
        mark.setAttribute(names[1], (y * scale + dy).toFixed(2));
      }
      if (axes) drawAxes(view);
    };
    const later = (view) => {
      if (view.waiting) return;
      view.waiting = true;
      requestAnimationFrame(() => draw(view));
    };
    // Panels of one figure show the same place.
    const all = (change) => windows.forEach((view) => (change(view), later(view)));
    const zoom = (factor, shareX = 0.5, shareY = 0.5) =>
      all((view) => {
        const scale = Math.min(60, Math.max(1, view.scale * factor));
        const grown = scale / view.scale, x = view.width * shareX, y = view.height * shareY;
        view.x = x - (x - view.x) * grown;
        view.y = y - (y - view.y) * grown;
        view.scale = scale;
        clamp(view);
      });
    const clamp = (view) => {
      view.x = Math.min(0, Math.max(view.width * (1 - view.scale), view.x));
      view.y = Math.min(0, Math.max(view.height * (1 - view.scale), view.y));
    };
    const reset = () => all((view) => Object.assign(view, { scale: 1, x: 0, y: 0 }));

    const inside = (view, event) => {
      const shape = view.box.getScreenCTM().inverse();
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(shape);
      return [(point.x - view.left) / view.width, (point.y - view.top) / view.height];
    };
    const under = (event) =>
      windows.find((view) => inside(view, event).every((share) => share >= 0 && share <= 1));
    svg.addEventListener("wheel", (event) => {
      const view = under(event);
      if (!view || !(event.ctrlKey || event.metaKey || document.activeElement === figure)) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...inside(view, event));
    }, { passive: false });
    svg.addEventListener("dblclick", (event) => under(event) && (event.preventDefault(), reset()));
    let held = null;
    svg.addEventListener("pointerdown", (event) => {
      const view = event.button === 0 && under(event);
      if (view) held = { view, at: inside(view, event) };
    });
    window.addEventListener("pointermove", (event) => {
      if (!held || held.view.scale === 1) return;
      const at = inside(held.view, event), moved = [at[0] - held.at[0], at[1] - held.at[1]];
      held.at = at;
      all((view) => ((view.x += moved[0] * view.width), (view.y += moved[1] * view.height), clamp(view)));
    });
    window.addEventListener("pointerup", () => (held = null));
    figure.addEventListener("keydown", (event) => {
      if (event.target !== figure) return;
      if (event.key === "+" || event.key === "=") zoom(1.5);
      else if (event.key === "-") zoom(1 / 1.5);
      else if (event.key === "0") reset();
    });
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(
      button("+", "zoom in", () => zoom(1.5)),
      button("−", "zoom out", () => zoom(1 / 1.5)),
      button("whole", "show all", reset),
    );
    figure.prepend(tools);
  }

  // On paper nothing can be opened.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));

  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.querySelectorAll("thead tr.columns th")], body = table.tBodies[0];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const keyed = [...body.rows].map((row) => {
          const cell = row.cells[column];
          const value = cell && cell.dataset.value;
          return [row, value === undefined ? NaN : Number(value), cell ? cell.textContent : ""];
        });
        const order = ([, a, textA], [, b, textB]) => {
          // What has no value stays last, whichever way.
          if (isNaN(a) !== isNaN(b)) return isNaN(a) ? 1 : -1;
          const sign = descending ? -1 : 1;
          return sign * (isNaN(a) ? textA.localeCompare(textB, "en", { numeric: true }) : a - b);
        };
        keyed.sort(order);
        body.append(...keyed.map(([row]) => row));
      });
    });
  }
})();
