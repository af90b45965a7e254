// Judges what the suite has written into a folder: `node compare.mjs RESULTS`. With UPDATE=1 expected.txt is written anew.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const results = process.argv[2];
const table = join(import.meta.dirname, "expected.txt");
const lines = (file) => readFileSync(file, "utf8").split("\n").filter((line) => line);

// These are passed by whoever calls no tool; whether the client leaves such tools out, its own list shows.
const EMPTY = /^ClientRejectsInvalidTool_/;

// One line a fact. SKIPPED and INFO say nothing: what comes to that is missed where SUCCESS was expected.
function facts(folder) {
  const [run] = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith("checks.json"));
  if (!run) throw new Error("the suite has left no result");
  const read = (file) => readFileSync(join(folder, run, "..", file), "utf8");
  const checks = JSON.parse(read("checks.json"))
    .filter(({ status, name }) => !["SKIPPED", "INFO"].includes(status) && !EMPTY.test(name))
    .map(({ status, id, name }) => `${status} ${id} ${name}`);
  return [client(read("stdout.txt"), read("stderr.txt")), ...checks.sort()];
}

// The suite watches the requests; what the client has read in the answers, only the client can tell.
function client(stdout, stderr) {
  const status = stderr.trimEnd().split("\n").at(-1);
  let server;
  try {
    [server] = JSON.parse(stdout).servers;
  } catch {
    return `CLIENT ${status}, no report`;
  }
  const unusable = server.unusable.map(({ tool }) => `${tool} (unusable)`);
  const tools = [...server.offered.map((name) => name.replace("mcp__suite__", "")), ...unusable].join(", ") || "no tool";
  const end = server.failure ? `${server.failure.class} at ${server.failure.step}` : tools;
  return `CLIENT ${status}, ${server.era} ${server.protocol_version}: ${end}`;
}

const listing = / CLIENT exit 0, (legacy|modern) [-0-9]+: (?!no tool$)/;
const actual = [];
const faults = [];
let runs = 0;
for (const [scenario, ...versions] of lines(join(import.meta.dirname, "scenarios.txt")).map((line) => line.split(" "))) {
  for (const version of versions) {
    runs += 1;
    const folder = join(results, scenario, version);
    const prefix = `${scenario} ${version} `;
    const before = faults.length;
    let found = [];
    try {
      found = facts(folder).map((fact) => prefix + fact);
    } catch (error) {
      faults.push(`${prefix}${error.message}`);
    }
    // Whatever the table says: a run in which nothing comes out well shows nothing.
    if (!found.some((line) => line.startsWith(`${prefix}SUCCESS `) || listing.test(line))) faults.push(`${prefix}nothing has succeeded`);
    if (!process.env.UPDATE) {
      const wanted = lines(table).filter((line) => line.startsWith(prefix));
      faults.push(...wanted.filter((line) => !found.includes(line)).map((line) => `- ${line}`));
      faults.push(...found.filter((line) => !wanted.includes(line)).map((line) => `+ ${line}`));
    }
    actual.push(...found);
    if (faults.length > before) console.error(readFileSync(join(folder, "log"), "utf8"));
  }
}
if (!runs) faults.push("scenarios.txt names no scenario");
if (process.env.UPDATE && !faults.length) writeFileSync(table, `${actual.join("\n")}\n`);
else if (!faults.length && lines(table).length !== actual.length) faults.push("expected.txt has lines of no scenario, or a line twice");
const count = (status) => actual.filter((line) => line.split(" ")[2] === status).length;
console.log(`conformance: ${runs} runs, ${count("SUCCESS")} checks passed, ${count("FAILURE") + count("WARNING")} not`);
if (faults.length) {
  console.error(`conformance: not as in expected.txt:\n${faults.join("\n")}`);
  process.exit(1);
}
