import { readFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import type { Bundle } from './bundle.ts'

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
