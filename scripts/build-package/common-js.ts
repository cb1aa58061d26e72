import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { transformSync } from 'esbuild'
import { declarationOf, reachedFrom } from './imports-of.ts'

/**
 * The same modules for `require`, below `dist/cjs`: jest without flags, ts-node and older Nodes load no ES
 * module. Only what the entries lead to: the command line is never required.
 */
export function writeCommonJs(dist: string, entries: readonly string[]): void {
  const folder = join(dist, 'cjs')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n')
  for (const file of reachedFrom(entries)) {
    const target = join(folder, relative(dist, file))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, commonJsOf(readFileSync(file, 'utf8'), relative(dirname(target), file)))
    const declaration = declarationOf(file)
    if (existsSync(declaration)) copyFileSync(declaration, declarationOf(target))
  }
}

function commonJsOf(code: string, twin: string): string {
  return transformSync(code, {
    format: 'cjs',
    platform: 'node',
    target: 'node20.16',
    // Replace `import()` by `require`: in CommonJS, jest fails on `import()`.
    supported: { 'dynamic-import': false },
    define: { 'import.meta': 'importMeta' },
    ...(code.includes('import.meta') && { banner: importMetaOf(twin) }),
  }).code
}

/** Stands where its twin, the ES module, is: what it looks for beside itself is there, and only there. */
const importMetaOf = (twin: string): string => `\
const importMeta = (() => {
  const filename = require('node:path').join(__dirname, ${JSON.stringify(twin.replaceAll(sep, '/'))});
  const url = require('node:url').pathToFileURL(filename).href;
  return { filename, dirname: require('node:path').dirname(filename), url };
})();`
