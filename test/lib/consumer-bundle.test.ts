import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { buildSync } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { type Bundle, bundle } from '../../lib/bundling/bundle.ts'
import { bundleFunction } from '../../lib/bundling/consumer-bundle.ts'
import type { Bundling } from '../../lib/constructs/function-settings.ts'
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

const contentsOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )

/** How often esbuild runs. Its own object lets nobody replace what it has. */
function countBuilds(work: () => void): number {
  const require = createRequire(import.meta.url)
  const loaded = require.cache[require.resolve('esbuild')] as NodeJS.Module
  const { exports: esbuild } = loaded
  let count = 0
  loaded.exports = {
    buildSync(options: object) {
      count += 1
      return esbuild.buildSync(options)
    },
  }
  try {
    work()
  } finally {
    loaded.exports = esbuild
  }
  return count
}

describe('The bundle of a consumer', () => {
  it('starts without the clients of S3 and EventBridge, and has both.', () => {
    expect(made.bytesAtStart / 1024).toBeLessThanOrEqual(418)
    const inputs = [...made.inputsAtStart.keys()]
    expect(inputs.filter((path) => /client-(s3|eventbridge)\//.test(path))).toEqual([])
    expect(made.files.has('client-s3.mjs')).toBe(true)
    expect([...made.inputs].some((path) => path.includes('client-eventbridge/'))).toBe(true)
  })

  it('has the SDK’s request handler too, for clients that its handler makes.', () => {
    const inputs = [...made.inputs]
    expect(inputs.some((path) => path.includes('node-http-handler/'))).toBe(true)
    expect(inputs).toContain('aws/connections.ts')
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

  it('accepts a handler that has its own `require`.', () => {
    const folder = temporaryFolder()
    bundleFunction(handlerFile('own-names'), folder)
    const { stdout, stderr } = runIn(folder, tryThem)
    expect(stderr).toBe('')
    const names = { pg: 'db.example', name: 'index.mjs', util: '17' }
    expect(JSON.parse(stdout)).toEqual(['function', names])
  })

  it.each([
    ['needs CommonJS again', 'packages', 'packages', 1],
    ['needs it no more', 'packages', 'plain', 2],
    ['needs it for the first time', 'plain', 'packages', 2],
    ['needs none again', 'plain', 'plain', 1],
  ])('is made from one before as it would be without, where it %s.', (_, before, now, builds) => {
    const [folder, fresh, again] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
    const fileOf = (name: string) => (name === 'plain' ? ship : handlerFile(name))
    bundleFunction(fileOf(before), folder)
    bundleFunction(fileOf(now), fresh)
    const count = countBuilds(() => bundleFunction(fileOf(now), again, {}, folder))
    // Each has its handler, and S3's client beside it.
    expect(count).toBe(2 * builds)
    expect(contentsOf(again)).toEqual(contentsOf(fresh))
  })

  it('has nothing more if no package is CommonJS.', () => {
    const folder = temporaryFolder()
    bundleFunction(ship, folder, { sourceMap: false })
    for (const name of readdirSync(folder)) {
      expect(readFileSync(join(folder, name)).equals(made.files.get(name) as Uint8Array)).toBe(true)
    }
  })
})

describe('A `NodejsFunction`', () => {
  it('as it bundles by default, CommonJS in one file, starts with a consumer’s handler.', () => {
    const folder = temporaryFolder()
    buildSync({
      entryPoints: [ship],
      outfile: join(folder, 'index.js'),
      bundle: true,
      platform: 'node',
      target: 'node24',
      logLevel: 'silent',
    })
    const { stdout, stderr } = runIn(
      folder,
      `import { createRequire } from 'node:module'
       const { handler } = createRequire(import.meta.url)('./index.js')
       console.log(await handler({ detail: {} }).catch(({ message }) => message))`,
    )
    expect(stderr).toBe('')
    expect(stdout).toContain('the event names no queue')
  })
})

/** A project with these files; those below `node_modules` are its packages. */
function aProject(files: Readonly<Record<string, string | object>>): string {
  const folder = temporaryFolder()
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    const text = typeof contents === 'string' ? contents : JSON.stringify(contents)
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** Bundled and started; what the handler gave. */
function answerOf(folder: string, bundling?: Bundling): string {
  const made = join(folder, 'made')
  bundleFunction(join(folder, 'ship.ts'), made, bundling)
  const program = `import { handler } from './index.mjs'; console.log(await handler())`
  const { stdout, stderr } = runIn(made, program)
  expect(stderr).toBe('')
  return stdout.trim()
}

const native = {
  'node_modules/fast/package.json': { name: 'fast', dependencies: { 'node-gyp-build': '4' } },
  'node_modules/fast/index.js': "module.exports = require('node-gyp-build')(__dirname)",
  'node_modules/node-gyp-build/package.json': { name: 'node-gyp-build' },
  'node_modules/node-gyp-build/index.js': "module.exports = () => { throw new Error('no build') }",
}
const user = (manifest: object) => ({
  'node_modules/user/package.json': { name: 'user', ...manifest },
  'node_modules/user/index.js':
    "exports.it = 'slow'\ntry { exports.it = require('fast') } catch {}\n",
  'ship.ts': "import { it } from 'user'\nexport const handler = () => it\n",
})

describe('A package of a consumer', () => {
  it('with native code is refused, with what to do.', () => {
    const own = "import fast from 'fast'\nexport const handler = () => fast\n"
    for (const files of [{ 'ship.ts': own }, user({ dependencies: { fast: '1' } })]) {
      expect(() => answerOf(aProject({ ...native, ...files }))).toThrow(
        /^Cannot bundle .+ because "fast" has native code, which must be built for Lambda: name it in `external`/,
      )
    }
  })

  it('with one binary for each platform is refused as well.', () => {
    const folder = aProject({
      'node_modules/picture/package.json': {
        name: 'picture',
        optionalDependencies: { '@picture/linux-arm64': '1', '@picture/darwin-arm64': '1' },
      },
      'node_modules/picture/index.js': 'exports.resize = () => {}',
      'ship.ts': "import { resize } from 'picture'\nexport const handler = resize\n",
    })
    expect(() => answerOf(folder)).toThrow('because "picture" has native code')
  })

  it.each([
    { optionalDependencies: { fast: '1' } },
    { peerDependencies: { fast: '1' }, peerDependenciesMeta: { fast: { optional: true } } },
  ])('does without native code that is optional for it: %o.', (manifest) => {
    expect(answerOf(aProject({ ...native, ...user(manifest) }))).toBe('slow')
  })

  it('does without packages that are not installed, if it asks for them only when needed.', () => {
    const folder = aProject({
      'node_modules/drivers/package.json': { name: 'drivers' },
      'node_modules/drivers/index.js':
        "exports.of = (name) => (name === 'oracle' ? require('oracledb') : 'here')\n",
      'ship.ts': "import { of } from 'drivers'\nexport const handler = () => of('pg')\n",
    })
    expect(answerOf(folder)).toBe('here')
  })

  it.each([
    ['nothere', 'there is no "nothere" (', ': install it, or name it in `external` if a layer'],
    ['./nothere.ts', 'there is no "./nothere.ts" (', 'ship.ts:1)'],
    ['.prisma/client/default', 'there is no ".prisma/client/default"', 'npx prisma generate'],
  ])('that the handler imports and that is not there, %s, is refused.', (name, reason, toDo) => {
    const ship = `import { it } from '${name}'\nexport const handler = () => it\n`
    const bundling = () => answerOf(aProject({ 'ship.ts': ship }))
    expect(bundling).toThrow(reason)
    expect(bundling).toThrow(toDo)
  })
})

describe('The bundling of a consumer', () => {
  const ship = `
    // The handler.
    declare const STAGE: string
    export const handler = () => {
      const where = new Error('here').stack?.split('\\n')[1] ?? ''
      return [STAGE, (globalThis as { top?: string }).top, where.trim()].join(' ')
    }`
  const define = { STAGE: '"test"' }

  it('takes a banner, and expressions for names.', () => {
    const banner = 'globalThis.top="first";'
    expect(answerOf(aProject({ 'ship.ts': ship }), { define, banner })).toMatch(/^test first at /)
  })

  it('makes source maps, so that a trace names the file and the line.', () => {
    const folder = aProject({ 'ship.ts': ship })
    const made = join(folder, 'made')
    bundleFunction(join(folder, 'ship.ts'), made, { define })
    const { sources } = JSON.parse(readFileSync(join(made, 'index.mjs.map'), 'utf8'))
    expect(sources).toEqual([relative('', join(folder, 'ship.ts'))])
    writeFileSync(
      join(made, 'p.mjs'),
      `import { handler } from './index.mjs'; console.log(handler())`,
    )
    const { stdout } = spawnSync(process.execPath, ['--enable-source-maps', 'p.mjs'], {
      cwd: made,
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/ship\.ts:5:\d+\)?$/m)
  })

  it('makes none if configured so, and minifies by default.', () => {
    const folder = aProject({ 'ship.ts': ship })
    const made = join(folder, 'made')
    const { files } = bundleFunction(join(folder, 'ship.ts'), made, {
      define,
      sourceMap: false,
      minify: false,
    })
    expect([...files.keys()]).toEqual(['index.mjs'])
    expect(readFileSync(join(made, 'index.mjs'), 'utf8')).toContain('var handler = () => {')
  })

  it('leaves out what is external.', () => {
    const folder = aProject({
      ...native,
      'ship.ts': "import fast from 'fast'\nexport const handler = () => fast\n",
    })
    const { files } = bundleFunction(join(folder, 'ship.ts'), join(folder, 'made'), {
      external: ['fast'],
      sourceMap: false,
    })
    expect(Buffer.from(files.get('index.mjs') as Uint8Array).toString()).toContain('from"fast"')
  })
})
