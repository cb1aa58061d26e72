import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Bundle, bundle } from '../../lib/bundling/bundle.ts'
import { bundleFunction } from '../../lib/bundling/consumer-bundle.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ship = join(import.meta.dirname, '../../examples/orders/ship.ts')
const handlerFile = (name: string) => join(import.meta.dirname, 'handlers', `${name}.ts`)

const made = bundle({ index: ship }).get('index') as Bundle

/** The file is what makes it an ES module and nothing else: `node -e` has a `require` for everybody. */
function runIn(folder: string, program: string): { stdout: string; stderr: string } {
  writeFileSync(join(folder, 'program.mjs'), program)
  const { stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    env: {},
  })
  return { stdout, stderr }
}

describe('The bundle of a consumer', () => {
  it('starts without the clients of S3 and EventBridge, and has both.', () => {
    expect(made.bytesAtStart / 1024).toBeLessThanOrEqual(400)
    const inputs = [...made.inputsAtStart.keys()]
    expect(inputs.filter((path) => /client-(s3|eventbridge)\//.test(path))).toEqual([])
    expect(made.files.has('client-s3.mjs')).toBe(true)
    expect([...made.inputs].some((path) => path.includes('client-eventbridge/'))).toBe(true)
  })

  it('has the SDK’s request handler too, for clients that its handler makes.', () => {
    const inputs = [...made.inputs]
    expect(inputs.some((path) => path.includes('node-http-handler/'))).toBe(true)
    expect(inputs).toContain('lambdas/foundation/network/request-handler.ts')
  })

  it('can be loaded by a fresh Node, and exports a handler.', () => {
    const folder = temporaryFolder()
    bundleFunction(ship, folder)
    const program = `import { handler } from './index.mjs'; console.log(typeof handler)`
    expect(runIn(folder, program)).toEqual({ stdout: 'function\n', stderr: '' })
  })

  const tryThem = `import { handler, tryThem } from './index.mjs'
    console.log(JSON.stringify([typeof handler, await tryThem()]))`

  it('can be loaded with packages that are CommonJS, with none of them beside it.', () => {
    const folder = temporaryFolder()
    bundleFunction(handlerFile('packages'), folder)
    const { stdout, stderr } = runIn(folder, tryThem)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual([
      'function',
      {
        pg: ['db.example', '"a""b"', 17],
        axios: { asked: 'https://api.example/orders?id=17' },
        ioredis: ['wait', 'shop:'],
      },
    ])
  })

  it.each([
    ['common.cts', "exports.handler = async () => 'here'"],
    ['common.js', "module.exports.handler = async () => 'here'"],
    [
      'common.cjs',
      "const util = require('node:util')\nexports.handler = async () => util.format('here')",
    ],
    ['wrapper.ts', "export * from './common.cjs'"],
    ['default.ts', "export default async () => 'here'"],
    ['typo.ts', "export const handle = async () => 'here'"],
  ])('is not made of %s, which has no handler that Lambda could find.', (name, source) => {
    const folder = temporaryFolder()
    const made = join(folder, 'made')
    writeFileSync(join(folder, 'common.cjs'), "exports.handler = async () => 'here'")
    writeFileSync(join(folder, name), source)
    expect(() => bundleFunction(join(folder, name), made)).toThrow(
      /^Cannot bundle .+ because it does not export "handler" as an ES module does, .+: write "export const handler = …"/,
    )
    expect(existsSync(made)).toBe(false)
  })

  it.each([
    ["export { handler } from './common.cjs'"],
    ["import { handler as it } from './common.cjs'\nexport const handler = it"],
    ["export * from './module.mjs'"],
  ])('is made of what exports a handler somehow: %s.', (source) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'common.cjs'), "exports.handler = async () => 'here'")
    writeFileSync(join(folder, 'module.mjs'), "export const handler = async () => 'here'")
    writeFileSync(join(folder, 'entry.ts'), source)
    const made = join(folder, 'made')
    bundleFunction(join(folder, 'entry.ts'), made)
    const program = `import { handler } from './index.mjs'; console.log(await handler())`
    expect(runIn(made, program)).toEqual({ stdout: 'here\n', stderr: '' })
  })

  it('bears a handler that has a `require` of its own.', () => {
    const folder = temporaryFolder()
    bundleFunction(handlerFile('own-names'), folder)
    const { stdout, stderr } = runIn(folder, tryThem)
    expect(stderr).toBe('')
    const names = { pg: 'db.example', name: 'index.mjs', util: '17' }
    expect(JSON.parse(stdout)).toEqual(['function', names])
  })

  it('has nothing more where no package is CommonJS.', () => {
    const folder = temporaryFolder()
    bundleFunction(ship, folder)
    for (const name of readdirSync(folder)) {
      expect(readFileSync(join(folder, name)).equals(made.files.get(name) as Uint8Array)).toBe(true)
    }
  })
})
