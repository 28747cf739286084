// An icicle on a canvas. The server lays out what can be seen (data-drawn); here it is drawn, walked by keys and the mouse, and what is
// to be done goes back as an event. Names come from files of strangers: they are drawn or set as text, never as markup.
(() => {
  const ROW = 36;
  const [NODE, LEVEL, LEFT, RIGHT, NAME, COUNT, BELOW, STATE, UP, FLAGS, FIRST] = Array(11).keys();
  const CHOSEN = 1, BLAMED = 2, MARKED = 4, INNER = 8, DEEPER = 16, HOLDS = 32;
  const number = (value) => value.toLocaleString("en");

  class Icicle extends HTMLElement {
    static observedAttributes = ["data-drawn"];

    connectedCallback() {
      if (!this.canvas) {
        this.canvas = document.createElement("canvas");
        this.canvas.setAttribute("aria-hidden", "true");
        this.tip = document.createElement("div");
        this.tip.className = "sh-icicle-tip";
        this.tip.setAttribute("aria-hidden", "true");
        this.tip.hidden = true;
        this.append(this.canvas, this.tip);
        this.addEventListener("keydown", (event) => this.onKey(event));
        this.addEventListener("focus", () => (this.say(), this.paint()));
        this.addEventListener("blur", () => this.paint());
        this.addEventListener("pointerdown", (event) => this.onDown(event));
        this.addEventListener("pointermove", (event) => this.onMove(event));
        this.addEventListener("pointerup", (event) => this.onUp(event));
        this.addEventListener("pointercancel", () => this.endDrag());
        this.addEventListener("pointerleave", () => (this.tip.hidden = true));
        this.addEventListener("dblclick", (event) => this.open(this.cellAt(event)));
      }
      this.sizes = new ResizeObserver(() => this.measure());
      this.sizes.observe(this);
      this.themes = new MutationObserver(() => this.paint());
      this.themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
      this.take();
    }

    disconnectedCallback() {
      this.sizes?.disconnect();
      this.themes?.disconnect();
    }

    attributeChangedCallback() {
      if (this.canvas) this.take();
    }

    take() {
      const drawn = JSON.parse(this.dataset.drawn || "null");
      if (!drawn) return;
      const before = this.at;
      this.drawn = drawn;
      // What the server opened or chose last has the focus; else it stays where it is.
      const wanted = drawn.aim !== this.aim || !before ? drawn.focus : before[NODE];
      const isMore = wanted === before?.[NODE] && before[FIRST] >= 0;
      this.aim = drawn.aim;
      this.at = drawn.cells.find((cell) => cell[NODE] === wanted && cell[FIRST] >= 0 === isMore) || drawn.cells[0];
      if (!this.anchor || !drawn.cells.some((cell) => cell[NODE] === this.anchor)) this.anchor = this.at[NODE];
      this.paint();
      if (document.activeElement === this) this.say();
    }

    measure() {
      clearTimeout(this.later);
      this.paint();
      this.later = setTimeout(() => {
        const width = Math.floor(this.clientWidth);
        if (this.drawn && width > 0 && Math.abs(width - this.drawn.width) > 4) this.send("size", { width });
      }, 120);
    }

    send(act, more) {
      emitEvent(this.dataset.event, { act, at: this.at && this.at[NODE], ...more });
    }

    // Drawing.

    paint() {
      if (!this.drawn || !this.clientWidth) return;
      const { cells, levels, width } = this.drawn;
      const scale = this.clientWidth / width;
      const dots = window.devicePixelRatio || 1;
      const height = levels * ROW;
      this.canvas.style.height = height + "px";
      this.canvas.width = Math.round(this.clientWidth * dots);
      this.canvas.height = Math.round(height * dots);
      const pen = this.canvas.getContext("2d");
      pen.scale(dots, dots);
      const style = getComputedStyle(document.body);
      const colour = (name) => style.getPropertyValue("--sh-" + name).trim();
      const look = {};
      for (const name of ["tone-after", "tone-before", "tone-gone", "tone-bad", "card", "ink", "line", "accent"]) look[name] = colour(name);
      pen.font = "13px " + style.fontFamily;
      pen.textBaseline = "middle";
      for (const cell of cells) this.paintCell(pen, look, cell, scale);
      if (this.at && document.activeElement === this) {
        const [left, wide] = this.bounds(this.at, scale);
        pen.setLineDash([5, 3]);
        this.ring(pen, look.ink, left, this.at[LEVEL] * ROW, wide, 2);
        pen.setLineDash([]);
      }
      if (this.target) this.ring(pen, look.accent, ...this.bounds(this.target, scale, true), 3);
    }

    bounds(cell, scale, withTop) {
      const left = cell[LEFT] * scale;
      const wide = Math.max(1, (cell[RIGHT] - cell[LEFT]) * scale);
      return withTop ? [left, cell[LEVEL] * ROW, wide] : [left, wide];
    }

    ring(pen, colour, left, top, wide, thick) {
      pen.strokeStyle = colour;
      pen.lineWidth = thick;
      pen.strokeRect(left + thick / 2, top + thick / 2, Math.max(1, wide - thick), ROW - thick);
    }

    paintCell(pen, look, cell, scale) {
      const [left, wide] = this.bounds(cell, scale);
      const top = cell[LEVEL] * ROW;
      const flags = cell[FLAGS];
      const fill = (colour, share) => {
        pen.globalAlpha = share;
        pen.fillStyle = colour;
        pen.fillRect(left, top, wide, ROW);
        pen.globalAlpha = 1;
      };
      fill(look.card, 1);
      if (cell[STATE] === 1) fill(look["tone-after"], 0.5);
      if (cell[STATE] === 2) fill(look["tone-before"], Math.min(0.48, 0.12 + 0.12 * cell[UP]));
      if (cell[STATE] === 3) fill(look["tone-gone"], 0.35);
      pen.save();
      pen.beginPath();
      pen.rect(left, top, wide, ROW);
      pen.clip();
      if (cell[STATE] === 3 || cell[FIRST] >= 0) this.hatch(pen, look[cell[FIRST] >= 0 ? "line" : "tone-gone"], left, top, wide);
      if (flags & BLAMED) {
        pen.fillStyle = look["tone-bad"];
        pen.fillRect(left, top, wide, 5);
      }
      if (flags & HOLDS) {
        pen.fillStyle = look["tone-bad"];
        for (let x = left; x < left + wide; x += 9) pen.fillRect(x, top + ROW - 4, 5, 3);
      }
      if (wide > 22) {
        pen.fillStyle = look.ink;
        const sign = flags & BLAMED && wide > 40 ? "⚠ " : "";
        pen.fillText(this.fitted(pen, sign + cell[NAME], wide - 10), left + 5, top + ROW / 2 + (flags & BLAMED ? 2 : 0));
      }
      if (flags & DEEPER && wide > 12) {
        pen.fillStyle = look.ink;
        pen.fillText("⌄", left + wide / 2 - 4, top + ROW - 6);
      }
      pen.restore();
      if (wide > 3) this.ring(pen, look.line, left, top, wide + 0.5, 1);
      if (flags & MARKED) {
        pen.setLineDash([2, 3]);
        this.ring(pen, look.accent, left, top, wide, 3);
        pen.setLineDash([]);
      } else if (flags & CHOSEN) this.ring(pen, look.accent, left, top, wide, 3);
    }

    hatch(pen, colour, left, top, wide) {
      pen.strokeStyle = colour;
      pen.lineWidth = 1;
      pen.beginPath();
      for (let x = left - ROW; x < left + wide; x += 7) {
        pen.moveTo(x, top + ROW);
        pen.lineTo(x + ROW, top);
      }
      pen.stroke();
    }

    fitted(pen, text, room) {
      if (pen.measureText(text).width <= room) return text;
      let [low, high] = [0, text.length];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle;
        else high = middle - 1;
      }
      return low ? text.slice(0, low) + "…" : "";
    }

    // What a cell says.

    words(cell) {
      if (cell[FIRST] >= 0) return cell[NAME] + ", too narrow to be drawn here. Enter or a click shows them.";
      const unit = cell[COUNT] === 1 ? this.drawn.unit.replace(/s$/, "") : this.drawn.unit;
      const parts = [cell[NAME], number(cell[COUNT]) + " " + unit];
      if (cell[FLAGS] & INNER) parts.push(number(cell[BELOW]) + " below");
      const up = cell[UP] === 1 ? "1 level up" : cell[UP] + " levels up";
      const fate = ["parts of it are published", "published", "published as what is " + up, "left out"][cell[STATE]];
      if (fate) parts.push(fate);
      const rows = this.drawn.blamed[cell[NODE]];
      if (rows !== undefined) parts.push("to blame: in " + number(rows) + (rows === 1 ? " row" : " rows"));
      if (cell[FLAGS] & HOLDS) parts.push("holds a node that is to blame");
      if (cell[FLAGS] & CHOSEN) parts.push("chosen");
      if (cell[FLAGS] & MARKED) parts.push("taken up");
      return parts.join(", ");
    }

    say() {
      const says = document.getElementById(this.dataset.says);
      if (!says || !this.at) return;
      const text = this.words(this.at) + ". Level " + (this.at[LEVEL] + 1) + ".";
      if (says.textContent !== text) says.textContent = text;
    }

    // Keys.

    go(cell, extend) {
      if (!cell) return;
      this.at = cell;
      if (extend) {
        const row = this.row(cell[LEVEL]);
        const places = [row.findIndex((one) => one[NODE] === this.anchor && one[FIRST] < 0), row.indexOf(cell)].sort((a, b) => a - b);
        const parent = this.above(cell);
        const nodes = row.slice(Math.max(0, places[0]), places[1] + 1).filter((one) => one[FIRST] < 0 && this.above(one) === parent);
        this.send("range", { nodes: [...nodes.filter((one) => one !== cell), cell].map((one) => one[NODE]) });
      } else this.anchor = cell[NODE];
      this.say();
      this.paint();
    }

    row(level) {
      return this.drawn.cells.filter((cell) => cell[LEVEL] === level);
    }

    above(cell) {
      const middle = (cell[LEFT] + cell[RIGHT]) / 2;
      return this.drawn.cells.find((one) => one[LEVEL] === cell[LEVEL] - 1 && one[LEFT] <= middle && middle <= one[RIGHT]);
    }

    open(cell) {
      if (!cell) return;
      if (cell[FIRST] >= 0) this.send("open", { node: cell[NODE], first: cell[FIRST] });
      else if (cell[LEVEL] === 0) this.send("up");
      else if (cell[FLAGS] & INNER) this.send("open", { node: cell[NODE] });
    }

    onKey(event) {
      if (event.altKey || !this.drawn) return;
      const undo = (event.ctrlKey || event.metaKey) && event.key === "z";
      if ((event.ctrlKey || event.metaKey) && !undo) return;
      const { at } = this;
      const row = this.row(at[LEVEL]);
      const place = row.indexOf(at);
      const node = { node: at[NODE] };
      const isNode = at[FIRST] < 0;
      const marked = this.drawn.cells.some((cell) => cell[FLAGS] & MARKED);
      const acts = {
        ArrowRight: () => this.go(row[place + 1], event.shiftKey),
        ArrowLeft: () => this.go(row[place - 1], event.shiftKey),
        ArrowUp: () => this.go(this.above(at)),
        ArrowDown: () => this.go(this.row(at[LEVEL] + 1).find((cell) => this.above(cell) === at)),
        Home: () => this.go(row[0]),
        End: () => this.go(row[row.length - 1]),
        Enter: () => this.open(at),
        Backspace: () => this.send("up"),
        Escape: () => this.send(marked ? "drop-mark" : "up"),
        " ": () => isNode && this.send("also", node),
        m: () => isNode && this.send("merge", node),
        x: () => isNode && this.send("take", node),
        v: () => isNode && this.send("put", node),
        w: () => isNode && this.send("why", node),
        z: () => this.send("undo"),
      };
      const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      event.preventDefault();
      act();
    }

    // The mouse.

    cellAt(event) {
      const box = this.canvas.getBoundingClientRect();
      const level = Math.floor((event.clientY - box.top) / ROW);
      const x = ((event.clientX - box.left) * this.drawn.width) / this.clientWidth;
      return this.drawn.cells.find((cell) => cell[LEVEL] === level && cell[LEFT] <= x && x < Math.max(cell[RIGHT], cell[LEFT] + 1));
    }

    onDown(event) {
      if (event.button !== 0 || !this.drawn) return;
      this.pressed = { cell: this.cellAt(event), x: event.clientX, y: event.clientY, drags: false };
    }

    onMove(event) {
      if (!this.drawn) return;
      const over = this.cellAt(event);
      const { pressed } = this;
      if (pressed && pressed.cell && !pressed.drags && event.buttons & 1) {
        const far = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 6;
        if (far && pressed.cell[FIRST] < 0 && pressed.cell[LEVEL] > 0) {
          pressed.drags = true;
          this.setPointerCapture(event.pointerId);
        }
      }
      const box = this.getBoundingClientRect();
      this.tip.hidden = !over && !(pressed && pressed.drags);
      this.tip.style.left = Math.min(event.clientX - box.left + 14, box.width - 180) + "px";
      this.tip.style.top = event.clientY - box.top + 18 + "px";
      if (pressed && pressed.drags) {
        const target = over && over[FLAGS] & INNER && over[FIRST] < 0 && over !== pressed.cell ? over : null;
        this.tip.textContent = pressed.cell[NAME] + (target ? " → under " + target[NAME] : "");
        if (target !== this.target) {
          this.target = target;
          this.paint();
        }
      } else if (over) this.tip.textContent = this.words(over);
    }

    onUp(event) {
      const { pressed, target } = this;
      this.endDrag();
      if (!pressed || !pressed.cell) return;
      if (pressed.drags) {
        if (target) this.send("move", { node: pressed.cell[NODE], target: target[NODE] });
        return;
      }
      const cell = this.cellAt(event);
      if (cell !== pressed.cell) return;
      this.focus({ preventScroll: true });
      if (cell[FIRST] >= 0) this.open(cell);
      else if (event.shiftKey) this.go(cell, true);
      else {
        this.go(cell);
        this.send(event.ctrlKey || event.metaKey ? "also" : "choose", { node: cell[NODE] });
      }
    }

    endDrag() {
      this.pressed = this.target = null;
      this.tip.hidden = true;
      this.paint();
    }
  }

  if (!customElements.get("shoal-icicle")) customElements.define("shoal-icicle", Icicle);

  // After an edit the page is drawn anew: the focus goes back to where the tree was worked on, the icicle or the list.
  window.shoalBackToTree = () =>
    (window.shoalOnIcicle ? document.querySelector("shoal-icicle") : document.querySelector(".sh-tree [tabindex='0']"))?.focus({ preventScroll: true });
  document.addEventListener("focusin", (event) => {
    if (event.target.closest?.("shoal-icicle")) window.shoalOnIcicle = true;
    else if (event.target.closest?.(".sh-tree")) window.shoalOnIcicle = false;
  });
})();
