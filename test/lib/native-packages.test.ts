import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nativePackagesIn, packageOf } from '../../lib/bundling/consumer-bundle.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A project with packages, and the paths in a bundle that is made below `root`. */
function projectWith(manifests: Readonly<Record<string, object>>) {
  const project = temporaryFolder()
  for (const [name, manifest] of Object.entries(manifests)) {
    const folder = join(project, 'node_modules', name)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  }
  return project
}

const sharp = {
  optionalDependencies: { '@img/sharp-linux-x64': '1', '@img/sharp-darwin-arm64': '1' },
}
const driver = { dependencies: { bindings: '1' } }
const knex = { peerDependenciesMeta: { driver: { optional: true } } }

const places = [
  ['in its own repository', '.', 'ship.ts', 'node_modules/'],
  ['installed in a project', 'node_modules/pushpop/dist', '../../../ship.ts', '../../'],
] as const

describe.each(places)('%s, a bundle’s paths', (_, root, handler, beside) => {
  const packages = `${beside}sharp/index.js`

  it('name the package with native code that a handler needs.', () => {
    const project = projectWith({ sharp })
    const imports: Readonly<Record<string, readonly string[]>> = { [handler]: [packages] }
    const made = {
      inputs: new Set([handler, packages]),
      importsOf: (input: string) => imports[input] ?? [],
    }
    expect(nativePackagesIn(join(project, root), made)).toEqual([
      { name: 'sharp', isOptional: false },
    ])
  })

  it('name the one that a package can do without.', () => {
    const project = projectWith({ knex, driver })
    const [user, used] = [`${beside}knex/lib/a.js`, `${beside}driver/b.js`]
    const imports: Readonly<Record<string, readonly string[]>> = {
      [handler]: [user],
      [user]: [used],
    }
    const made = {
      inputs: new Set([handler, user, used]),
      importsOf: (input: string) => imports[input] ?? [],
    }
    expect(nativePackagesIn(join(project, root), made)).toEqual([
      { name: 'driver', isOptional: true },
    ])
  })

  it('tell a package’s file from one of the handler’s own.', () => {
    const project = projectWith({})
    const found = packageOf(join(project, root), `${beside}@scope/a/b.js`)
    expect(found?.name).toBe('@scope/a')
    expect(packageOf(join(project, root), handler)).toBeUndefined()
  })
})
