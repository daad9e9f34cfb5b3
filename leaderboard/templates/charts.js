// Interactive charts over the static figures: the page's JSON drawn by Plotly. Without either, the figures stay.
const source = document.getElementById("data");
if (source && typeof Plotly !== "undefined") charts(JSON.parse(source.textContent));

function charts(data) {
  const MANY = 12; // curves that a joint hover box can hold
  const places = [...document.querySelectorAll(".chart")];
  for (const node of document.querySelectorAll(".interactive")) node.hidden = false;
  document.documentElement.classList.add("charts");
  const axes = Object.keys(data.axes);
  const methods = data.methods ?? [];
  const title = (method) => method.name + (method.aa ? " A/A" : "");
  const view = {
    x: axes.includes(state.get("x")) ? state.get("x") : axes.includes("backward") ? "backward" : axes[0],
    metric: Math.max(0, data.metrics.findIndex((metric) => metric.name === state.get("metric"))),
    diagnostic: Object.hasOwn(data.diagnostics ?? {}, state.get("diagnostic")) ? state.get("diagnostic") : Object.keys(data.diagnostics ?? {})[0],
    bands: state.get("bands") !== "no",
    on: methods.map((method) => state.getAll("show").includes(title(method)) || (method.on && !state.getAll("hide").includes(title(method)))),
  };
  let colors;

  // Controls: ordinary form elements, for keyboards and screen readers; Plotly's own legend is neither.
  function choice(label, options, current, change) {
    const select = element("select", {}, ...options.map(([name, shown]) => element("option", { value: name, textContent: shown, selected: name === current })));
    select.addEventListener("change", () => { change(select.value); draw(); });
    return element("label", {}, `${label} `, select);
  }
  function tick(label, on, change, swatch) {
    const box = element("input", { type: "checkbox", checked: on });
    box.addEventListener("change", () => { change(box.checked); draw(); });
    return element("label", { className: "tick" }, box, ...(swatch ? [swatch] : []), ` ${label}`);
  }
  function swatch(method) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    line.setAttribute("class", "swatch");
    line.setAttribute("viewBox", "0 0 24 8");
    line.setAttribute("aria-hidden", "true");
    const stroke = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const dash = method.dash === "solid" ? "" : method.dash.replaceAll("px", "");
    for (const [name, at] of Object.entries({ d: "M0 4h24", stroke: method.color ?? "currentColor", "stroke-width": 3, "stroke-dasharray": dash })) stroke.setAttribute(name, at);
    line.append(stroke);
    return line;
  }
  function shown(change) {
    change();
    remember("hide", ...methods.filter((m, i) => m.on && !view.on[i]).map(title));
    remember("show", ...methods.filter((m, i) => !m.on && view.on[i]).map(title));
  }
  function controls() {
    const form = document.getElementById("controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    const row = element("div", { className: "tools" });
    if (axes.length > 1) row.append(choice("Cost in", Object.entries(data.axes), view.x, (x) => { view.x = x; remember("x", x); }));
    if (methods.length && data.metrics.length > 1) row.append(choice("Metric", data.metrics.map((m) => [m.name, m.name]), data.metrics[view.metric].name, (name) => {
      view.metric = data.metrics.findIndex((m) => m.name === name);
      remember("metric", name);
    }));
    form.append(row);
    if (!methods.length) return;
    if (Object.keys(data.diagnostics).length > 1) row.append(choice("Diagnostic", Object.keys(data.diagnostics).map((n) => [n, n]), view.diagnostic, (name) => { view.diagnostic = name; remember("diagnostic", name); }));
    row.append(tick("bands", view.bands, (on) => { view.bands = on; remember("bands", on ? "" : "no"); }));
    row.append(element("button", { type: "button", textContent: "CSV of the curves", onclick: saveCurves }));
    const ticks = methods.map((method, i) => tick(title(method) + (method.baseline ? " (baseline)" : ""), view.on[i], (on) => shown(() => { view.on[i] = on; }), swatch(method)));
    const every = (on) => () => { shown(() => view.on.fill(on)); for (const label of ticks) label.querySelector("input").checked = on; draw(); };
    form.append(element("fieldset", {}, element("legend", { textContent: "Methods" }),
      element("button", { type: "button", textContent: "all", onclick: every(true) }), element("button", { type: "button", textContent: "none", onclick: every(false) }), ...ticks));
  }
  function saveCurves() {
    const metric = data.metrics[view.metric];
    const lines = methods.flatMap((method, i) => {
      const curve = view.on[i] && metric.curves[view.x][i];
      return curve ? curve.x.map((x, k) => [title(method), x, curve.y[k], curve.low?.[k] ?? "", curve.high?.[k] ?? ""]) : [];
    });
    download(`curves-${view.x}`, [["method", data.axes[view.x], metric.name, "low", "high"], ...lines]);
  }

  // Plotly reads a little HTML in texts: names from the records must stay text.
  const literal = (name, most = 44) => (name.length > most ? `${name.slice(0, most - 1)}…` : name).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const hue = (method) => method.color ?? colors.ink;
  const faded = (color, share) => {
    const [r, g, b] = color.startsWith("#") ? [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16)) : color.match(/\d+/g);
    return `rgba(${r},${g},${b},${share})`;
  };
  const visible = () => methods.map((method, i) => [method, i]).filter(([, i]) => view.on[i]);
  const line = (method) => ({ color: hue(method), dash: method.dash, width: method.width + 0.6 });
  function band(method, x, low, high, share, widest = Infinity) {
    const known = x.map((_, i) => i).filter((i) => low[i] !== null && high[i] !== null && high[i] - low[i] <= widest);
    const back = [...known].reverse();
    return { x: [...known, ...back].map((i) => x[i]), y: [...known.map((i) => low[i]), ...back.map((i) => high[i])], mode: "lines", fill: "toself", fillcolor: faded(hue(method), share), line: { width: 0 }, hoverinfo: "skip" };
  }
  const bars = (high, low, at) => ({ type: "data", symmetric: false, array: [high === null ? 0 : high - at], arrayminus: [low === null ? 0 : at - low], thickness: 1.4, width: 3 });
  function dot(method, x, y, rest) {
    return { x: [x], y: [y], name: literal(title(method)), mode: "markers+text", textposition: "top center", textfont: { size: 10, color: colors.ink }, marker: { color: hue(method), size: 9 }, cliponaxis: false, ...rest };
  }
  // Names beside the dots that have room for one; the others say theirs on hover.
  function named(dots) {
    const span = (values) => Math.max(...values) - Math.min(...values) || 1;
    const [wide, high] = ["x", "y"].map((side) => span(dots.map((dot) => dot[side][0])));
    const taken = [];
    for (const dot of dots) {
      const [x, y] = [dot.x[0] / wide, dot.y[0] / high];
      if (taken.some(([a, b]) => Math.abs(a - x) < 0.2 && Math.abs(b - y) < 0.1)) continue;
      taken.push([x, y]);
      dot.text = [dot.name];
    }
    return dots;
  }
  const power = (values) => ({ type: "log", exponentformat: "power", ...(Math.max(...values) > 1000 * Math.min(...values) ? { dtick: 1 } : {}) });
  const drawn = (traces, side) => traces.filter((trace) => trace.name).flatMap((trace) => trace[side]).filter((at) => at > 0);
  const axis = (text, more) => ({ title: { text: text.split("\n").map((part) => literal(part, 60)).join("<br>") }, gridcolor: colors.grid, zerolinecolor: colors.grid, linecolor: colors.soft, ticks: "outside", tickcolor: colors.soft, automargin: true, ...more });
  const percent = { tickformat: ".0%" };
  const better = (metric) => `${metric.name} (${metric.better} is better)`;

  const drawings = {
    curves() {
      const metric = data.metrics[view.metric];
      const traces = [];
      for (const [method, i] of visible()) {
        const curve = metric.curves[view.x]?.[i];
        if (!curve) continue;
        if (view.bands && curve.low) traces.push(band(method, curve.x, curve.low, curve.high, 0.13));
        traces.push({ x: curve.x, y: curve.y, name: literal(title(method)), mode: "lines", line: line(method), hovertemplate: "%{y:.4~g} at %{x:.4~s}" });
      }
      const scale = (side) => (metric.log ? power(drawn(traces, side)) : {});
      return [traces, { xaxis: axis(data.axes[view.x], metric.log ? scale("x") : { rangemode: "tozero" }), yaxis: axis(better(metric), scale("y")) }];
    },
    levels() {
      const metric = data.metrics[view.metric];
      const traces = [];
      for (const [method, i] of visible()) {
        const levels = metric.levels[view.x]?.[i];
        if (!levels || method.baseline) continue;
        if (view.bands) traces.push(band(method, data.q, levels.low, levels.high, 0.08, 1));
        traces.push({ x: data.q, y: levels.y, name: literal(title(method)), mode: "lines+markers", line: line(method), marker: { size: 6, color: levels.missed.map((missed) => (missed ? colors.paper : hue(method))), line: { color: hue(method), width: 1.5 } }, hovertemplate: "%{y:.1%} at level %{x:.0%}" });
      }
      const ends = traces.flatMap((trace) => (trace.name ? trace.y : [])).filter((y) => y !== null);
      const low = Math.max(-1, Math.min(-0.1, ...ends) - 0.05), high = Math.min(1, Math.max(0.1, ...ends) + 0.1);
      return [traces, { xaxis: axis("level: share of the baseline's gain", percent), yaxis: axis(`saved: ${data.axes[view.x]}`, { ...percent, range: [low, high], zeroline: true, zerolinecolor: colors.ink, zerolinewidth: 1.5 }) }];
    },
    front() {
      const metric = data.metrics[view.metric];
      const sign = metric.better === "higher" ? 1 : -1;
      const ends = visible().map(([method, i]) => [method, metric.front[view.x]?.[i]]).filter(([, at]) => at && at.x !== null && at.y !== null);
      const best = ends.filter(([, at]) => !ends.some(([, other]) => other !== at && other.x <= at.x && sign * other.y >= sign * at.y));
      best.sort(([, a], [, b]) => a.x - b.x);
      const step = { x: best.map(([, at]) => at.x), y: best.map(([, at]) => at.y), mode: "lines", line: { shape: "hv", color: colors.soft, dash: "dot", width: 1.5 }, hoverinfo: "skip" };
      const dots = ends.map(([method, at]) => dot(method, at.x, at.y, {
        marker: { size: 9, color: at.missed ? colors.paper : hue(method), line: { color: hue(method), width: 1.5 } },
        hovertemplate: "%{y:.4~g} for %{x:.4~s}",
        ...(view.bands ? { error_x: { ...bars(at.x + at.x_sd, at.x - at.x_sd, at.x), color: hue(method) }, error_y: { ...bars(at.high, at.low, at.y), color: hue(method) } } : {}),
      }));
      const x = metric.log ? {} : { rangemode: "tozero" };
      return [[step, ...named(dots)], { xaxis: axis(`${data.axes[view.x]} to 90%\nof the baseline's gain (less is better)`, x), yaxis: axis(better(metric), metric.log ? { ...power(drawn(dots, "y")), exponentformat: "e" } : {}) }];
    },
    theory() {
      const known = visible().map(([method, i]) => [method, data.metrics[view.metric].theory[i]]).filter(([, at]) => at);
      const ends = known.flatMap(([, at]) => [at.x, at.y]);
      const [low, high] = [Math.max(-1, Math.min(0, ...ends) - 0.05), Math.max(0.1, ...ends) + 0.05];
      const equal = { x: [low, high], y: [low, high], mode: "lines", line: { color: colors.soft, dash: "dot", width: 1.5 }, hoverinfo: "skip" };
      const dots = known.map(([method, at]) => dot(method, at.x, at.y, { hovertemplate: "measured %{y:.1%}, predicted %{x:.1%}", error_y: { ...bars(at.high, at.low, at.y), color: hue(method) } }));
      return [[equal, ...named(dots)], { xaxis: axis("saving predicted", { ...percent, range: [low, high] }), yaxis: axis("saving measured", { ...percent, range: [low, high] }) }];
    },
    diagnostics() {
      const curves = data.diagnostics[view.diagnostic] ?? {};
      const traces = visible().filter(([, i]) => curves[i]).map(([method, i]) => ({ ...curves[i], name: literal(title(method)), mode: "lines", line: line(method), hovertemplate: "%{y:.4~g} at step %{x}" }));
      return [traces, { xaxis: axis("step"), yaxis: axis(view.diagnostic) }];
    },
    runs(place) {
      const metric = data.metrics[place.dataset.metric];
      const traces = metric.runs.map((run, i) => ({ x: run.x[view.x], y: run.y, name: `seed ${run.seed}`, mode: "lines", line: { width: 1.6, color: `hsl(${(i * 137) % 360},60%,50%)` }, hovertemplate: "%{y:.4~g} at %{x:.4~s}" }));
      const scale = (side) => (metric.log ? power(drawn(traces, side)) : {});
      return [traces, { xaxis: axis(data.axes[view.x], scale("x")), yaxis: axis(better(metric), scale("y")) }];
    },
  };

  function draw() {
    const style = getComputedStyle(document.body);
    colors = { ink: style.color, paper: style.backgroundColor, soft: faded(style.color, 0.55), grid: faded(style.color, 0.14) };
    for (const place of places) {
      const [traces, layout] = drawings[place.dataset.chart](place);
      const curves = traces.filter((trace) => trace.name).length;
      const joint = !["front", "theory"].includes(place.dataset.chart) && curves <= MANY;
      Plotly.react(place, traces, {
        showlegend: false, hovermode: joint ? "x unified" : "closest", hoverdistance: joint ? -1 : 20, height: 420,
        margin: { l: 56, r: 16, t: 12, b: 48 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: style.fontFamily, size: 12, color: colors.ink }, hoverlabel: { bgcolor: colors.paper, font: { color: colors.ink } },
        annotations: curves ? [] : [{ text: "nothing to draw: no method is switched on, or none has this", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }],
        ...layout,
      }, { responsive: true, displaylogo: false, displayModeBar: false });
    }
  }
  controls();
  draw();
  addEventListener("repaint", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
