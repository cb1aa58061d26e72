// What `npm ci` installs is what was here when the lock file was written: each tarball by its hash.

import { describe, expect, test } from 'vitest'
import lock from '../../package-lock.json' with { type: 'json' }

type Entry = {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  /** It came inside another package's tarball, whose hash covers it. */
  readonly inBundle?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const entries: readonly [path: string, entry: Entry][] = Object.entries(lock.packages)
/** All but this repository, its folder `dynoxide` and the link to it. */
const installed = entries.filter(([path, { link }]) => path.startsWith('node_modules/') && !link)

/**
 * Their hashes could not be had where this lock file was written. On each of these platforms npm
 * compares with the hash that the registry gives at that time. To complete one:
 * `npm view @dynoxide/darwin-arm64@1.2.1 dist.integrity`
 */
const withoutHash = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'win32-x64'].map(
  (platform) => `node_modules/@dynoxide/${platform}`,
)

describe('package-lock.json', () => {
  test('has the hash of everything that is installed', () => {
    const missing = installed.filter(
      ([, { inBundle, integrity }]) => !inBundle && !/^sha512-.{86}==$/.test(integrity ?? ''),
    )
    expect(missing.map(([path]) => path)).toEqual(withoutHash)
  })

  test('has an entry for each optional package, of whatever platform, or `npm ci` would refuse it', () => {
    const names = new Set(entries.map(([path]) => path.split('node_modules/').at(-1)))
    const optional = entries.flatMap(([, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies),
    )
    expect(optional.length).toBeGreaterThan(80)
    expect(optional.filter((name) => !names.has(name))).toEqual([])
  })

  test('names no address but that of the public registry', () => {
    const addresses = installed.flatMap(([, { resolved }]) => resolved ?? [])
    expect(addresses.filter((one) => !one.startsWith('https://registry.npmjs.org/'))).toEqual([])
  })
})
