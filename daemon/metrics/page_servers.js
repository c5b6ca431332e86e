// SPDX-License-Identifier: Apache-2.0
// The part of page.html's script that shows all servers and their jobs.
"use strict";
const AGES = 6;                // the number of a server's documents from which rates are computed
const JOBS = 64, HOSTS = 8;    // at most in the document of a server
const OLD = 90;                // seconds after which an answer says nothing about now; peers are asked each minute
const remembered = new Map();  // by a server's address: its latest documents, the oldest first

const STATES = ["ready", "loading", "draining", "drained"];
const text = (x) => (typeof x === "string" ? x : "");
const figure = (x) => (Number.isFinite(x) ? x : undefined);
const objects = (x) => (Array.isArray(x) ? x.filter((each) => each && typeof each === "object") : []);

// Returns the document of a peer, or undefined if the text is not a document. Leaves out keys that are
// names of an object's methods, which would break the page, and jobs and hosts beyond the numbers that a
// server lists.
function parseDocument(json) {
  try {
    const made = JSON.parse(json, (key, each) => (key in Object.prototype ? undefined : each));
    if (!made || typeof made !== "object") return undefined;
    made.jobs = objects(made.jobs).slice(0, JOBS);
    for (const job of made.jobs) job.hosts = objects(job.hosts).slice(0, HOSTS);
    return made;
  } catch (error) {
    return undefined;
  }
}

// Returns the content of /servers as a list of {address, document, silent, error}, this server first. A
// peer that is this server is left out: all machines may be given the same list of servers.
function readServers({ self, peers }) {
  const others = objects(peers).map((each) => ({ ...each, document: parseDocument(each.document) }));
  return [{ address: "", document: self }, ...others.filter(({ document }) => !document || document.id !== self.id)];
}

// Returns whether a server has answered lately.
const answers = ({ document, silent, age }) => document && silent === undefined && !(age > OLD);

// Keeps the documents of servers that answer; rates are computed from them. Forgets the documents of
// other servers, and of processes that have ended.
function remember(servers) {
  const addresses = new Set();
  for (const server of servers) {
    const { address, document } = server;
    if (!answers(server) || figure(document.uptime_seconds) === undefined) continue;
    let known = remembered.get(address) || [];
    const last = known[known.length - 1];
    if (last && last.id !== document.id) known = [];
    addresses.add(address);
    remembered.set(address, known);
    if (known.length && !(document.uptime_seconds > last.uptime_seconds)) continue;
    known.push(document);
    if (known.length > AGES) known.shift();
  }
  for (const address of remembered.keys()) if (!addresses.has(address)) remembered.delete(address);
}

// Returns by how much a counter of a server, or of a job there, grew per second; undefined if unknown.
function growth({ address, document }, name, job) {
  const [old] = remembered.get(address) || [];
  const seconds = old ? document.uptime_seconds - old.uptime_seconds : 0;
  if (!(seconds > 0)) return undefined;
  if (!job) return Math.max(0, figure((document[name] - old[name]) / seconds) || 0);
  const before = old.jobs.find((each) => each && each.job === job.job && each.seconds < job.seconds);
  const grown = before ? (job[name] - before[name]) / seconds : job[name] / Math.max(1, job.seconds);
  return Math.max(0, figure(grown) || 0);
}

// Returns the sum of the numbers that are known; undefined if none is.
const sum = (list) => list.reduce((a, b) => (b === undefined ? a : (a || 0) + b), undefined);

// Returns the row of a server; `names` has the names of the hosts of all servers.
function serverRow(server, names) {
  const { address, document, silent, error, age } = server;
  const host = (document && text(document.host)) || address || "";
  const is_alone = names.filter((each) => each === host).length < 2;
  const named = address ? element("a", { href: `http://${address}/`, title: address }, is_alone ? host : `${host} (${address})`)
                        : `${host} (this one)`;
  if (!answers(server)) {
    const since = silent === undefined ? age : silent;
    const why = since === undefined ? "is being asked" : `for ${ago(since)}: ${text(error) || "it tells nothing"}`;
    return [named, element("td", { class: "left" }, element("span", { class: "state lost" }, "no answer")),
            element("td", { colspan: "9", class: "left soft" }, why)];
  }
  const state = STATES.includes(document.state) ? document.state : "unknown";
  const { bytes: loaded, total } = document.loading || {};
  const percent = total > 0 ? ` ${Math.floor(100 * loaded / total)} %` : "";
  const parts = Array.isArray(document.parts) ? document.parts.filter(Number.isFinite) : [];
  const memory = sum([figure(document.graph_bytes), figure(document.tensor_bytes)]);
  const seconds = figure(document.uptime_seconds);
  return [named, element("td", { class: "left" }, element("span", { class: "state " + state }, state + percent),
                  ...(document.store_trouble === true ? [" ", element("span", { class: "state lost" }, "degraded")] : [])),
          words(parts.slice(0, 8).join(", ") + (parts.length > 8 ? ", …" : "")),
          count(figure(document.num_jobs)), count(figure(document.num_trainers)),
          ...["requests", "rows", "edges"].map((name) => number(growth(server, name))),
          bytes(memory), count(figure(document.checkpoints)), seconds === undefined ? "-" : ago(seconds)];
}

// Returns the table of all servers, with a hint if other servers of the graph are not shown.
function serversTable(servers) {
  const { num_parts: all, parts = [] } = servers[0].document;
  const names = servers.map(({ document }) => (document ? text(document.host) : ""));
  const hint = servers.length === 1 && all > parts.length
    ? "Other servers have the other partitions of this graph: --metrics_peers shows them here, see graphd(8)." : "";
  return wideTable("Servers",
    ["server", " state", " partitions", "jobs", "trainers", "requests/s", "rows/s", "edges/s", "memory", "checkpoints", "up for"],
    servers.map((each) => serverRow(each, names)), hint);
}

// Returns the table of the jobs of all servers that answer. A trainer attaches to each of them.
function jobsTable(servers) {
  const jobs = new Map();
  let more = 0;
  for (const server of servers.filter(answers)) {
    const { document } = server;
    const listed = objects(document.jobs);
    more = Math.max(more, (figure(document.num_jobs) || 0) - listed.length);
    for (const job of listed) {
      const id = text(job.job);
      if (!jobs.has(id)) jobs.set(id, []);
      jobs.get(id).push({ server, job });
    }
  }
  const rows = [...jobs].map(([id, places]) => {
    const hosts = new Map();
    for (const { job } of places) {
      for (const [host, trainers] of objects(job.hosts).filter(Array.isArray)) {
        hosts.set(text(host), Math.max(hosts.get(text(host)) || 0, figure(trainers) || 0));
      }
    }
    const most = (name) => places.reduce((top, { job }) => Math.max(top, figure(job[name]) || 0), 0);
    const rates = ["requests", "rows", "edges"].map((name) =>
      number(sum(places.map(({ server, job }) => growth(server, name, job)))));
    const memory = sum(places.flatMap(({ job }) => [figure(job.request_bytes), figure(job.tensor_bytes)]));
    return { seconds: most("seconds"), row: [
      element("td", { class: "wrap", title: id }, id.length > 80 ? id.slice(0, 79) + "…" : id),
      words(text(places[0].job.owner) || "-"),
      `${count(most("trainers"))} of ${count(most("world_size"))}`,
      words([...hosts].map(([host, trainers]) => (trainers > 1 ? `${host} (${trainers})` : host)).join(", ") || "-"),
      count(places.length), ...rates, bytes(memory), ago(most("seconds"))] };
  });
  rows.sort((a, b) => b.seconds - a.seconds);
  return wideTable("Jobs",
    ["job", " owner", "trainers", " on", "servers", "requests/s", "rows/s", "edges/s", "memory", "attached for"],
    rows.map(({ row }) => row), more > 0 ? `A server has ${count(more)} more jobs: see graphctl ps.` : "");
}

