// Bundles one handler of somebody's project: with CommonJS packages, with optional ones that are not there, and not
// with native code, which only a layer can bring.

import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import type { BuildFailure, Message } from 'esbuild'
import type { Bundling } from '../constructs/function-settings.ts'
import { type Bundle, bundle, type FunctionFiles, root, writeBundle } from './bundle.ts'

/**
 * One handler on its own, in a file of this or another project, written to a folder. `before`: a folder with an earlier
 * bundle of it. What it was made with is likely to do again, and if it does, one build is enough.
 */
export function bundleFunction(
  entry: string,
  outdir: string,
  bundling: Bundling = {},
  before?: string,
): Bundle {
  const wasCommonJs = before !== undefined && hasCommonJs(before)
  const [first, needed] = withoutOptional(entry, wasCommonJs ? withCommonJs(bundling) : bundling)
  // For a CommonJS file, esbuild exports only `default`: the other names are known only once the file runs.
  if (!first.exports.includes('handler')) {
    throw errorOf(
      entry,
      'it does not export "handler" as an ES module does, and Lambda would not find it: write ' +
        '"export const handler = …" (in CommonJS, "exports.handler = …" is not enough)',
    )
  }
  const isCommonJs = needsCommonJs(first)
  // Built again rather than edited: esbuild knows where a banner may stand. A bundle without CommonJS
  // gets none.
  const again = { ...bundling, external: needed.external ?? [] }
  const made =
    isCommonJs === wasCommonJs ? first : build(entry, isCommonJs ? withCommonJs(again) : again)
  writeBundle(made, outdir)
  return made
}

/**
 * The files that a bundle is made of and that people write: not those of installed packages. A file of which nothing
 * is left in the bundle, such as a constant, counts too.
 */
export function ownFilesOf({ inputs, importsOf }: Pick<Bundle, 'inputs' | 'importsOf'>) {
  const found = new Set<string>()
  const visit = (input: string): void => {
    // A module that is not bundled, such as one of Node's, is not a file here.
    const isFile = packageOf(root, input) === undefined && existsSync(resolve(root, input))
    if (!isFile || found.has(input)) return
    found.add(input)
    for (const imported of importsOf(input)) visit(imported)
  }
  for (const input of inputs) visit(input)
  return [...found].map((input) => resolve(root, input))
}

type Made = readonly [made: Bundle, needed: Bundling]

/**
 * Packages try to load what may be installed beside them, such as a driver for another database, and do
 * without it. A module that a package lacks stays missing, and so does native code that it can do without; modules that
 * the handler itself needs must be there.
 */
function withoutOptional(entry: string, bundling: Bundling): Made {
  const [made, needed] = withoutMissing(entry, bundling)
  const native = nativePackagesIn(root, made)
  const [needsNative] = native.filter(({ isOptional }) => !isOptional)
  if (needsNative !== undefined) throw nativeError(entry, needsNative.name)
  if (native.length === 0) return [made, needed]
  return withoutMissing(
    entry,
    leaving(
      needed,
      native.map(({ name }) => name),
    ),
  )
}

function withoutMissing(entry: string, bundling: Bundling): Made {
  try {
    return [build(entry, bundling), bundling]
  } catch (failure) {
    const { errors = [] } = failure as Partial<BuildFailure>
    const missing = errors.map(missingForPackage)
    if (errors.length === 0 || missing.includes(undefined)) throw explained(entry, errors, failure)
    const needed = leaving(bundling, missing as string[])
    return [build(entry, needed), needed]
  }
}

const leaving = (bundling: Bundling, names: readonly string[]): Bundling => ({
  ...bundling,
  external: [...(bundling.external ?? []), ...names],
})

const build = (entry: string, bundling: Bundling): Bundle =>
  bundle({ index: resolve(entry) }, { sourceMap: true, ...bundling }).get('index') as Bundle

const missingIn = ({ text }: Message): string | undefined =>
  /^Could not resolve "([^"]+)"/.exec(text)?.[1]

/** An `import` at the top of a file would end the function at its start, and so is not optional. */
function missingForPackage(error: Message): string | undefined {
  const { file = '', lineText = '' } = error.location ?? {}
  const isOptional =
    packageOf(root, file) !== undefined && !/^\s*(import|export)\s.*\bfrom\b/.test(lineText)
  const missing = missingIn(error)
  // Prisma's client requires what only its generator writes.
  return isOptional && !missing?.startsWith('.') ? missing : undefined
}

function explained(entry: string, errors: readonly Message[], cause: unknown): unknown {
  const error = errors.find((one) => missingForPackage(one) === undefined)
  if (error === undefined) return cause
  const { text, location } = error
  const native = /\.node"?$/.test(/for "([^"]*)" files/.exec(text)?.[1] ?? '')
  const from = packageOf(root, location?.file ?? '')
  if (native && from !== undefined) return nativeError(entry, from.name)
  const missing = missingIn(error)
  const place = location ? ` (${relative('', resolve(root, location.file))}:${location.line})` : ''
  if (missing === undefined) return errorOf(entry, `${text}${place}`, cause)
  return errorOf(entry, `there is no "${missing}"${place}${whatToDo(missing)}`, cause)
}

const errorOf = (entry: string, reason: string, cause?: unknown): Error =>
  new Error(`Cannot bundle ${relative('', entry)} because ${reason}`, { cause })

const nativeError = (entry: string, name: string): Error =>
  errorOf(
    entry,
    `"${name}" has native code, which must be built for Lambda: name it in \`external\` and bring it in a ` +
      'layer, or make the function yourself and give it to the consumer (docs/consumers.md#native-packages)',
  )

function whatToDo(missing: string): string {
  if (missing.startsWith('.prisma/')) return ': run `npx prisma generate` first'
  if (/^[.#/~]/.test(missing)) return ''
  return ': install it, or name it in `external` if a layer or the runtime brings it'
}

/**
 * The names that CommonJS code expects around it. esbuild wraps such packages into the ES module, where
 * their `require('util')` finds no `require` and throws "Dynamic require of "util" is not supported". This
 * stands at the top of each file of a bundle. Its own names are long, because minified names are short.
 */
const COMMON_JS =
  'import{createRequire as pushPopCreateRequire}from"node:module";' +
  'const require=pushPopCreateRequire(import.meta.url),' +
  '__filename=import.meta.filename,__dirname=import.meta.dirname;'

const withCommonJs = ({ banner = '', ...bundling }: Bundling): Bundling => ({
  ...bundling,
  banner: `${COMMON_JS}${banner}`,
})

const needsCommonJs = ({ files }: FunctionFiles): boolean =>
  [...files].some(
    ([name, contents]) =>
      name.endsWith('.mjs') &&
      /Dynamic require of|\b__(?:dirname|filename)\b/.test(
        Buffer.from(contents).toString().replace(COMMON_JS, ''),
      ),
  )

function hasCommonJs(folder: string): boolean {
  const file = join(folder, 'index.mjs')
  return existsSync(file) && readFileSync(file, 'utf8').startsWith(COMMON_JS)
}

type InstalledPackage = { readonly name: string; readonly folder: string }

/**
 * `…/node_modules/a/node_modules/@b/c` of `node_modules/a/node_modules/@b/c/dist/d.js` below the root. Where this
 * project is itself installed, the path to a package beside it is `../../@b/c/d.js`, without the word.
 */
export function packageOf(root: string, path: string): InstalledPackage | undefined {
  const whole = resolve(root, path).replaceAll(sep, '/')
  const [folder, name] = /^.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/.exec(whole) ?? []
  return folder === undefined || name === undefined ? undefined : { name, folder }
}

/** What packages with native code load it by. */
const loaders = [
  '@mapbox/node-pre-gyp',
  'bindings',
  'node-gyp-build',
  'node-gyp-build-optional-packages',
  'node-pre-gyp',
  'prebuild-install',
  'pkg-prebuilds',
]

/** A package with code built for one platform, and whether each package that uses it can do without. */
type NativePackage = { readonly name: string; readonly isOptional: boolean }

/**
 * Packages in a bundle that bring code built for one platform. Their JavaScript bundles without an error, and looks for
 * the rest when the function starts.
 */
export function nativePackagesIn(
  root: string,
  { inputs, importsOf }: Pick<Bundle, 'inputs' | 'importsOf'>,
): readonly NativePackage[] {
  const manifests = new Map<string, Manifest>()
  const manifestOf = (folder: string): Manifest => {
    const manifest = manifests.get(folder) ?? readManifest(folder)
    manifests.set(folder, manifest)
    return manifest
  }
  const optional = new Map<string, boolean>()
  for (const input of inputs) {
    const user = packageOf(root, input)
    for (const imported of importsOf(input)) {
      const used = packageOf(root, imported)
      if (used === undefined || used.folder === user?.folder) continue
      if (!isNative(manifestOf(used.folder))) continue
      const canDoWithout = user !== undefined && isOptionalFor(manifestOf(user.folder), used.name)
      optional.set(used.name, canDoWithout && (optional.get(used.name) ?? true))
    }
  }
  return [...optional].map(([name, isOptional]) => ({ name, isOptional }))
}

type Manifest = {
  readonly dependencies?: object
  readonly optionalDependencies?: object
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

function isNative({ dependencies = {}, optionalDependencies = {} }: Manifest): boolean {
  return (
    loaders.some(
      (name) => Object.hasOwn(dependencies, name) || Object.hasOwn(optionalDependencies, name),
    ) ||
    // One package for each platform, as sharp and many packages written in Rust have.
    Object.keys(optionalDependencies).filter((name) => /[-/](linux|darwin|win32)-/.test(name))
      .length > 1
  )
}

const isOptionalFor = (
  { optionalDependencies = {}, peerDependenciesMeta = {} }: Manifest,
  name: string,
): boolean =>
  Object.hasOwn(optionalDependencies, name) || peerDependenciesMeta[name]?.optional === true

function readManifest(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  } catch {
    return {}
  }
}
