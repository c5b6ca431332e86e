// SPDX-License-Identifier: Apache-2.0
// The script of page.html: it reads the metrics of this server, and shows them.
"use strict";
const PERIOD = 2000;   // milliseconds
const KEPT = 150;      // samples: five minutes
const samples = [];    // of {at, metrics}, the oldest first
let answered = 0;      // when /metrics last answered

// Parses Prometheus's text format into name -> list of {labels, value}.
function parse(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match || line[0] === "#") continue;
    const labels = {};
    for (const [, key, value] of (match[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[key] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    }
    if (!metrics.has(match[1])) metrics.set(match[1], []);
    metrics.get(match[1]).push({ labels, value: match[3] === "+Inf" ? Infinity : Number(match[3]) });
  }
  return metrics;
}

const list = (metrics, name) => metrics.get(name) || [];
const fits = (labels, wanted) => Object.entries(wanted).every(([key, value]) => labels[key] === value);
// Returns the sum of a metric's values whose labels have the wanted values; undefined if there are none.
function value(metrics, name, wanted = {}) {
  const found = list(metrics, name).filter((each) => fits(each.labels, wanted));
  return found.length ? found.reduce((sum, each) => sum + each.value, 0) : undefined;
}

// Returns by how much a counter grew per second between two samples; 0 if it began again.
function rate(before, after, name, wanted = {}) {
  const from = value(before.metrics, name, wanted), to = value(after.metrics, name, wanted);
  if (from === undefined || to === undefined || to < from) return 0;
  return (to - from) / Math.max(0.001, (after.at - before.at) / 1000);
}

// Returns a quantile, in seconds, of the times of the requests of a kind that ended between two samples:
// the upper bound of the bucket that it is in, or minus the last bound if it is above all bounds.
// Returns undefined if no request ended.
function quantile(before, after, kind, q, metric = "graphd_request_duration_seconds") {
  const name = metric + "_bucket";
  const buckets = list(after.metrics, name).filter((each) => each.labels.kind === kind);
  const counts = buckets.map((each) => {
    const { le } = each.labels;
    const old = value(before.metrics, name, { kind, le }) || 0;
    return [le === "+Inf" ? Infinity : Number(le), each.value < old ? each.value : each.value - old];
  });
  const total = counts.length ? counts[counts.length - 1][1] : 0;
  if (total <= 0) return undefined;
  const found = counts.findIndex(([, count]) => count >= q * total);
  // For a quantile above the last bound, that bound is all that is known.
  return counts[found][0] === Infinity ? -counts[found - 1][0] : counts[found][0];
}

function number(x) {
  if (x === undefined) return "-";
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (x >= size) return (x / size).toPrecision(3) + unit;
  }
  return Number.isInteger(x) ? String(x) : x.toPrecision(x < 100 ? 2 : 3);
}
const count = (x) => (x === undefined ? "-" : x.toLocaleString("en"));
function bytes(x) {
  if (x === undefined) return "-";
  let unit = 0;
  for (; x >= 1024 && unit < 5; unit++) x /= 1024;
  return (unit && x < 100 ? x.toFixed(1) : x.toFixed(0)) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
}
function seconds(x) {
  if (x === undefined) return "-";
  if (x < 0) return `> ${-x} s`;
  return x >= 1 ? "≤ " + x + " s" : "≤ " + Number((x * 1000).toPrecision(2)) + " ms";
}
function ago(x) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"]].find(([size]) => x >= size) || [1, "s"];
  return Math.floor(x / parts[0]) + " " + parts[1];
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, each] of Object.entries(attributes)) made.setAttribute(key, each);
  made.append(...children);
  return made;
}
// Returns a table. In `head`, the title of a column of words begins with a space.
function table(title, head, rows) {
  if (!rows.length) return "";
  return element("section", {}, element("h2", {}, title), element("table", {},
    element("tr", {}, ...head.map((text) => element("th", text[0] === " " ? { class: "left" } : {}, text))),
    ...rows.map((row) => element("tr", {}, ...row.map((cell) =>
      (cell instanceof HTMLTableCellElement ? cell : element("td", {}, cell)))))));
}
// Returns a cell with words, which may take several lines.
const words = (text) => element("td", { class: "left wrap" }, text);
// Returns a table over the whole width, with a remark below it if there is one.
function wideTable(title, head, rows, remark) {
  const made = table(title, head, rows);
  if (!made) return "";
  made.className = "wide";
  if (remark) made.append(element("p", { class: "soft" }, remark));
  return made;
}
// Draws a share as a bar. The bar is red where little is left, unless `look` names another style.
function bar(used, size, look) {
  const part = size > 0 ? Math.min(1, used / size) : 0;
  return element("span", { class: look || (part > 0.9 ? "bar full" : "bar") },
    element("i", { style: `width: ${(part * 100).toFixed(1)}%` }));
}
function withBar(text, used, size, look) {
  return size > 0 ? element("span", {}, text, bar(used, size, look)) : text;
}
// Draws the rates between successive samples.
function curve(of) {
  const points = [];
  for (let i = 1; i < samples.length; i++) points.push(of(samples[i - 1], samples[i]));
  const most = Math.max(...points, 1e-9);
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${KEPT} 30`);
  svg.setAttribute("preserveAspectRatio", "none");
  const line = document.createElementNS(space, "polyline");
  line.setAttribute("points", points.map((y, i) =>
    `${KEPT - points.length + i},${(28 - 26 * y / most).toFixed(1)}`).join(" "));
  svg.append(line);
  return svg;
}

function tiles(now, last) {
  const { metrics } = now;
  const still = [["jobs", value(metrics, "graphd_jobs")], ["trainers", value(metrics, "graphd_trainers")],
                 ["connections", value(metrics, "graphd_connections")]];
  const moving = [["requests/s", "graphd_requests_total", number],
                  ["edges sampled/s", "graphd_sampled_edges_total", number],
                  ["rows sent/s", "graphd_rows_served_total", number],
                  ["sent/s", "graphd_sent_bytes_total", bytes],
                  ["edges sampled in mapped memory/s", "graphd_mapped_sampled_edges_total", number],
                  ["rows read in mapped memory/s", "graphd_mapped_rows_total", number],
                  ["changes of tensors/s", "graphd_pushes_total", number],
                  ["processors busy", "process_cpu_seconds_total", number]];
  return [...still.filter(([, x]) => x !== undefined).map(([title, x]) => element("div", { class: "tile" }, title, element("b", {}, count(x)))),
          ...moving.filter(([, name]) => metrics.has(name)).map(([title, name, show]) =>
            element("div", { class: "tile" }, title,
              element("b", {}, last ? show(rate(last, now, name)) : "-"),
              curve((a, b) => rate(a, b, name))))];
}

// Returns how much is loaded, and an estimate of the remaining time from the rate of the last minute.
function loading(loaded, toLoad) {
  const rows = [["partitions", withBar(`${bytes(loaded)} of ${bytes(toLoad)}`, loaded, toLoad, "bar")]];
  const first = samples[Math.max(0, samples.length - 31)], now = samples[samples.length - 1];
  const speed = rate(first, now, "graphd_loading_bytes");
  if (speed > 0) {
    rows.push(["speed", bytes(speed) + "/s"]);
    rows.push(["ready in about", ago((toLoad - loaded) / speed)]);
  }
  return rows;
}

function partitions({ metrics }) {
  return list(metrics, "graphd_partition_nodes").map(({ labels: { part }, value: nodes }) => {
    const memory = list(metrics, "graphd_partition_bytes").filter((each) => each.labels.part === part);
    return [part, count(nodes), count(value(metrics, "graphd_partition_edges", { part })),
            bytes(memory.reduce((sum, each) => sum + each.value, 0)),
            words(memory.map(({ labels: { pages }, value: size }) =>
              (memory.length > 1 ? `${bytes(size)} on ${pages}` : pages)).join(", ")),
            bytes(value(metrics, "graphd_partition_index_bytes", { part }))];
  });
}

function memory({ metrics }) {
  const rows = [["the daemon, resident", bytes(value(metrics, "process_resident_memory_bytes"))]];
  for (const [title, used, limit] of [
    ["requests and answers", "graphd_peer_memory_bytes", "graphd_peer_memory_limit_bytes"],
    ["tensors", "graphd_tensor_resident_bytes", "graphd_tensor_memory_limit_bytes"]]) {
    const x = value(metrics, used), most = value(metrics, limit);
    if (x === undefined) continue;
    rows.push([title, withBar(bytes(x) + (most ? " of " + bytes(most) : ""), x, most)]);
  }
  for (const { labels: { directory }, value: size } of list(metrics, "graphd_file_system_size_bytes")) {
    const used = size - value(metrics, "graphd_file_system_free_bytes", { directory });
    rows.push(["file system of " + directory, withBar(bytes(used) + " of " + bytes(size), used, size)]);
  }
  const open = value(metrics, "process_open_fds"), most = value(metrics, "process_max_fds");
  rows.push(["descriptors", withBar(count(open) + " of " + count(most), open, most)]);
  return rows;
}

function requests(now, first) {
  if (!first) return [];
  const name = "graphd_request_duration_seconds_count";
  return list(now.metrics, name).map(({ labels: { kind }, value: total }) =>
    [kind.replaceAll("_", " "), count(total), number(rate(first, now, name, { kind })),
     seconds(quantile(first, now, kind, 0.5)), seconds(quantile(first, now, kind, 0.99)),
     seconds(quantile(first, now, kind, 0.99, "graphd_request_queue_seconds"))]);
}

function store({ metrics }) {
  const changed = value(metrics, "graphd_write_back_changed_bytes");
  const rows = [["tensors and embeddings", count(value(metrics, "graphd_tensors"))],
                ["shares of checkpoints written", count(value(metrics, "graphd_checkpoint_shares_total"))],
                ["on disk", bytes(value(metrics, "graphd_tensor_disk_bytes"))],
                ["log of changes", bytes(value(metrics, "graphd_push_log_bytes"))]];
  if (changed) {
    const written = value(metrics, "graphd_write_back_written_bytes");
    rows.push(["written back", withBar(bytes(written) + " of " + bytes(changed), written, changed)]);
  }
  return metrics.has("graphd_push_log_bytes") ? rows : [];  // not before the first tensor
}

function alerts({ metrics }) {
  const found = [];
  if (value(metrics, "graphd_store_trouble")) {
    found.push("Changes of tensors wait or fail, or rows can't be written back. " +
               "graphctl ps and the daemon's log name the reason.");
  }
  const trouble = value(metrics, "graphd_tensors_in_trouble");
  if (trouble) found.push(`${count(trouble)} tensors can't be read or changed in full.`);
  const refused = "graphd_connections_refused_total", [first] = samples;
  for (const { labels: { reason }, value: times } of list(metrics, refused)) {
    const more = times - Math.min(times, value(first.metrics, refused, { reason }) || 0);
    const what = reason === "gave_way" ? "closed to make room for others" : `refused (${reason})`;
    if (more) found.push(`${count(more)} connections were ${what} in these minutes.`);
  }
  return found.map((text) => element("p", {}, text));
}

function show(servers) {
  const now = samples[samples.length - 1], last = samples[samples.length - 2];
  const first = samples[Math.max(0, samples.length - 31)];  // a minute ago
  const info = list(now.metrics, "graphd_server_info")[0], build = list(now.metrics, "graphd_build_info")[0];
  const state = list(now.metrics, "graphd_state").find((each) => each.value === 1);
  const name = info ? info.labels.server_name : "graphd";
  const loaded = value(now.metrics, "graphd_loading_bytes"),
        toLoad = value(now.metrics, "graphd_loading_total_bytes");
  const percent = toLoad > 0 ? Math.floor(100 * loaded / toLoad) + " %" : "";
  document.title = percent ? `${name} ${percent}` : name;
  document.getElementById("name").textContent = name;
  const badge = document.getElementById("state");
  badge.textContent = state ? state.labels.state : "unknown";
  badge.className = "state " + badge.textContent;
  if (percent) badge.textContent += " " + percent;
  const started = value(now.metrics, "process_start_time_seconds");
  const facts = [];
  const parts = value(now.metrics, "graphd_graph_partitions");
  if (info && info.labels.graph_name) facts.push(`graph ${info.labels.graph_name}, ${count(parts)} partition${parts === 1 ? "" : "s"}`);
  if (build) facts.push(`graphd ${build.labels.version}`);
  if (started) facts.push(`started ${ago(Date.now() / 1000 - started)} ago`);
  document.getElementById("about").textContent = facts.join(" · ");
  document.getElementById("alerts").replaceChildren(...alerts(now));
  document.getElementById("tiles").replaceChildren(...tiles(now, last));
  document.getElementById("sections").replaceChildren(
    serversTable(servers), jobsTable(servers),
    table("Loading", ["", ""], toLoad > 0 ? loading(loaded, toLoad) : []),
    table("Partitions of this server", ["partition", "nodes", "edges", "memory", " pages", "indexes"],
          partitions(now)),
    table("Memory and limits", ["", ""], memory(now)),
    table("Requests of the last minute", ["kind", "since the start", "per second", "half within", "99 % within", "99 % waited"],
          requests(now, last && first)),
    table("Threads", ["pool", "threads", "waiting requests"],
          list(now.metrics, "graphd_pool_threads").map(({ labels: { pool }, value: threads }) =>
            [pool.replaceAll("_", " "), count(threads),
             count(value(now.metrics, "graphd_pool_waiting_requests", { pool }))])),
    table("Tensors and checkpoints", ["", ""], store(now)),
    table("Errors of requests", ["error", "requests"],
          list(now.metrics, "graphd_request_errors_total").filter((each) => each.value > 0)
            .map(({ labels: { code }, value: times }) => [code, count(times)])));
}

async function update() {
  try {
    const answer = await fetch("metrics", { signal: AbortSignal.timeout(5000), cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const others = await fetch("servers", { signal: AbortSignal.timeout(5000), cache: "no-store" });
    if (!others.ok) throw new Error(others.statusText);
    const servers = readServers(await others.json());
    remember(servers);
    samples.push({ at: Date.now(), metrics: parse(await answer.text()) });
    if (samples.length > KEPT) samples.shift();
    answered = Date.now();
    show(servers);
    document.getElementById("age").textContent = "";
  } catch (error) {
    const badge = document.getElementById("state");
    badge.textContent = "no answer";
    badge.className = "state lost";
    if (answered) {
      document.getElementById("age").textContent =
        `The figures are ${ago((Date.now() - answered) / 1000)} old.`;
    }
  }
  setTimeout(update, PERIOD);
}
update();
