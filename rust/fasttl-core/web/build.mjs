// Builds the committed assets of the report: one classic script, one style sheet and the licences of what is inside.
// The same sources give the same bytes, so CI can rebuild and compare.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../src/report/static");
const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  charset: "utf8",
  legalComments: "none",
  target: ["chrome113", "firefox128", "safari16.4"],
  metafile: true,
  logLevel: "warning",
};

// A page may be opened from a disk, where a browser loads no modules: hence one immediately invoked function.
const script = await build({
  ...common,
  entryPoints: ["src/app.ts"],
  format: "iife",
  outfile: join(out, "app.js"),
  banner: { js: "/* fasttl report; licences of the libraries inside: LICENSES.txt */" },
});
await build({ ...common, entryPoints: ["styles/app.css"], outfile: join(out, "app.css") });

/** Names of the packages of which the bundle holds code. */
function packagesIn(metafile) {
  const names = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const found = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (found) names.add(found[1]);
  }
  return [...names].sort();
}

/** Licence text of one package, or an error: a bundle must not go out without it. */
async function licenceOf(name) {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((f) => /^licen[cs]e(\.(md|txt))?$/i.test(f));
  if (!file) throw new Error(`${name} has no licence file`);
  const text = (await readFile(join(folder, file), "utf8")).replace(/\r\n/g, "\n").trim();
  return `${name} ${about.version} (${about.license})\n\n${text}\n`;
}

const parts = await Promise.all(packagesIn(script.metafile).map(licenceOf));
const head = "The script of this report contains the following libraries.\n";
await writeFile(join(out, "LICENSES.txt"), [head, ...parts].join(`\n${"-".repeat(72)}\n\n`));
