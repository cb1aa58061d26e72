// `npm run build`: what the packages hold, into dist/ and packages/client/dist. `npm pack` does it first.
//
//   node scripts/bootstrap.mjs scripts/build-package.ts [FOLDER]
//
// JavaScript file by file (not bundled, so that a stack trace names our files), once as ES modules and once
// as CommonJS, the declarations that an entry leads to, and the functions as they are deployed.
// docs/decisions/0018-the-package.md

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { buildSync, transformSync } from 'esbuild'
import { bundle } from '../lib/bundling/bundle.ts'
import { entriesOf, writeBuiltFunctions } from '../lib/bundling/bundled-code.ts'
import { handlerGroups } from '../lib/constructs/function-settings.ts'
import packageJson from '../package.json' with { type: 'json' }
import { nameScriptsInDeclarations, pruneDeclarations } from './build-package/declarations.ts'

const root = resolve(import.meta.dirname, '..')
const dist = resolve(process.argv[2] ?? join(root, 'dist'))

/** A path of package.json, where it is written now. */
const inDist = (path: string): string => join(dist, relative('dist', path))

function compile(): void {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = ['--project', join(root, 'tsconfig.package.json'), '--outDir', dist]
  try {
    execFileSync(process.execPath, [tsc, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
  } catch {
    // The compiler has printed why.
    process.exit(1)
  }
}

/** Our files that a compiled file or a declaration imports. */
function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from |import |import\()["'](\.[^"']+)["']/g)
  return [...found].map(([, path = '']) => resolve(dirname(file), path))
}

const declarationOf = (file: string): string => file.replace(/\.js$/, '.d.ts')

/** All compiled files that these entries lead to, with their code or with their types; or as `by` says. */
function reachedFrom(
  entries: readonly string[],
  by = (file: string) => [file, declarationOf(file)],
): ReadonlySet<string> {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const one of by(file)) if (existsSync(one)) importsOf(one).forEach(visit)
  }
  entries.forEach(visit)
  return reached
}

/**
 * The same modules for `require`, below `dist/cjs`: jest without flags, ts-node and older Nodes load no ES
 * module. Only what the entries lead to: the command line is never required.
 */
function writeCommonJs(dist: string, entries: readonly string[]): void {
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

/**
 * The client is also a separate package, as small as possible: its code once for `import` and once for `require`, and
 * its declarations, which are the same for both.
 */
function writeClientPackage(entry: string): void {
  const target = resolve(dist, '../packages/client/dist')
  rmSync(target, { recursive: true, force: true })
  for (const file of reachedFrom([entry], (one) => [declarationOf(one)])) {
    const declaration = declarationOf(file)
    if (existsSync(declaration)) cpSync(declaration, join(target, relative(dist, declaration)))
  }
  for (const [format, ending] of [
    ['esm', 'mjs'],
    ['cjs', 'cjs'],
  ] as const) {
    buildSync({
      entryPoints: [entry],
      outdir: target,
      outExtension: { '.js': `.${ending}` },
      format,
      bundle: true,
      // So that an app that only pushes loads no consumer.
      splitting: format === 'esm',
      chunkNames: '[name]-[hash]',
      platform: 'neutral',
      minify: true,
    })
  }
}

const fromHere = /'\.\.\/\.\.\/[^']+' \/\/ ('pushpop[^']*')$/gm

/**
 * The examples as a project that installed the package has them: they import from it, and not from the folders of this
 * repository. What to import instead stands beside each import: `// 'pushpop/client'`.
 */
function writeExamples(from: string, to: string): void {
  for (const path of globSync('*/*.ts', { cwd: from })) {
    const code = readFileSync(join(from, path), 'utf8').replace(fromHere, '$1')
    const [left] = /'\.\.\/\.\.\/[^']+'/.exec(code) ?? []
    if (left !== undefined) {
      throw new Error(`examples/${path} imports ${left}, and no comment says what the package has`)
    }
    mkdirSync(join(to, dirname(path)), { recursive: true })
    writeFileSync(join(to, path), code)
  }
}

/**
 * Which packages the bundles contain, and their terms. A minified bundle says neither, and most licences
 * ask us to pass both on. Packages with the same text are listed together.
 */
function licencesOf(root: string, inputs: Iterable<string>): string {
  const packages = new Set([...inputs].map(packageOf).filter((name) => name !== undefined))
  const terms = new Map<string, string[]>()
  for (const folder of [...packages].sort()) {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    ) as Manifest
    const text =
      textIn(join(root, folder)) ?? `It comes without a text, under the licence ${license}.`
    terms.set(text, [...(terms.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const parts = [...terms].map(([text, names]) => `${names.join('\n')}\n\n${text}`)
  return `${['The functions hold parts of these packages.', ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

type Manifest = { readonly name: string; readonly version: string; readonly license: string }

/** `node_modules/a/node_modules/@b/c` of `node_modules/a/node_modules/@b/c/dist/d.js`. */
const packageOf = (path: string): string | undefined =>
  /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]

function textIn(folder: string): string | undefined {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(\.|$)/i.test(name))
  return file === undefined ? undefined : readFileSync(join(folder, file), 'utf8').trim()
}

rmSync(dist, { recursive: true, force: true })
compile()
const entries = Object.values(packageJson.exports).filter((entry) => typeof entry === 'object')
pruneDeclarations(
  dist,
  entries.map((entry) => inDist(entry.import.types)),
)
nameScriptsInDeclarations(dist)
writeCommonJs(
  dist,
  entries.map((entry) => inDist(entry.import.default)),
)
chmodSync(inDist(packageJson.bin.pushpop), 0o755)
writeClientPackage(inDist(packageJson.exports['./client'].import.default))

writeExamples(join(root, 'examples'), join(dist, 'examples'))

// In the same groups as the constructs bundle them, so that the same bytes come out.
const functions = new Map(handlerGroups.flatMap((files) => [...bundle(entriesOf(files))]))
writeBuiltFunctions(join(dist, 'functions'), functions)
const inputs = [...functions.values()].flatMap((made) => [...made.inputs])
writeFileSync(join(dist, 'functions/LICENCES.txt'), licencesOf(root, inputs))
