// `npm run build`: what the packages hold, into dist/ and packages/client/dist. `npm pack` does it first.
//
//   node scripts/bootstrap.mjs scripts/build-package.ts [FOLDER]
//
// JavaScript file by file (not bundled, so that a stack trace names our files), once as ES modules and once
// as CommonJS, the declarations that an entry leads to, and the functions as they are deployed.
// docs/decisions/0018-the-package.md

import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { buildSync } from 'esbuild'
import { bundle } from '../lib/bundling/bundle.ts'
import { entriesOf, writeBuiltFunctions } from '../lib/bundling/bundled-code.ts'
import { handlerGroups } from '../lib/constructs/function-settings.ts'
import packageJson from '../package.json' with { type: 'json' }
import { writeCommonJs } from './build-package/common-js.ts'
import { nameScriptsInDeclarations, pruneDeclarations } from './build-package/declarations.ts'
import { writeExamples } from './build-package/examples.ts'
import { declarationOf, reachedFrom } from './build-package/imports-of.ts'
import { licencesOf } from './build-package/licences.ts'

const root = resolve(import.meta.dirname, '..')
const dist = resolve(process.argv[2] ?? join(root, 'dist'))

/** A path of package.json, where it is written now. */
const inDist = (path: string): string => join(dist, relative('dist', path))

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
    const outfile = join(target, `index.${ending}`)
    buildSync({
      entryPoints: [entry],
      outfile,
      format,
      bundle: true,
      platform: 'neutral',
      minify: true,
    })
  }
}

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
