import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { findReason, synthesiseApp } from '../../../local/synthesis/synthesise-app.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let directory: string
beforeEach(() => {
  directory = temporaryFolder()
  write('package.json', '{}')
  write('.runs/log', '')
  write(
    'bin/app.mjs',
    `import { appendFileSync, writeFileSync } from 'node:fs'
    appendFileSync(${JSON.stringify(join(directory, '.runs/log'))}, 'run\\n')
    writeFileSync(process.env.CDK_OUTDIR + '/manifest.json', '{}')
    writeFileSync(process.env.CDK_OUTDIR + '/context.json', process.env.CDK_CONTEXT_JSON)`,
  )
})

function write(path: string, text: string) {
  const file = join(directory, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
}

const synthesise = (more: object = {}) =>
  synthesiseApp({ app: join(directory, 'bin/app.mjs'), ...more })
const runs = () => readFileSync(join(directory, '.runs/log'), 'utf8').split('\n').length - 1

describe('an app', () => {
  test('runs as its CLI would run it, with the flags of its cdk.json', async () => {
    write('cdk.json', '{"context":{"flag":true,"stage":"a"}}')
    const assembly = await synthesise({ context: { stage: 'b' } })
    expect(JSON.parse(readFileSync(join(assembly, 'context.json'), 'utf8'))).toEqual({
      flag: true,
      stage: 'b',
      'aws:cdk:enable-asset-metadata': true,
      'pushpop:local': true,
    })
  })

  test('runs once as long as nothing changes', async () => {
    expect(await synthesise()).toBe(await synthesise())
    expect(runs()).toBe(1)
  })

  test.each([
    { name: 'a source', change: () => write('lib/a.ts', 'export {}') },
    { name: 'a file that it may read', change: () => write('.env', 'A=1') },
    { name: 'the lock file', change: () => write('package-lock.json', '{}') },
    { name: 'the context', change: () => {}, options: { context: { a: 1 } } },
  ])('runs again when $name changes', async ({ change, options }) => {
    await synthesise()
    change()
    await synthesise(options)
    expect(runs()).toBe(2)
  })

  test.each(['node_modules/x/index.js', '.pushpop/data.json', 'cdk.out/manifest.json'])(
    'does not run again for %s',
    async (path) => {
      await synthesise()
      write(path, '{}')
      await synthesise()
      expect(runs()).toBe(1)
    },
  )

  test('does not run again for a file that a start writes', async () => {
    const except = [join(directory, 'local.env')]
    await synthesise({ except })
    write('local.env', 'A=1')
    await synthesise({ except })
    expect(runs()).toBe(1)
  })

  test('runs again when its environment changes, and not for another terminal', async () => {
    const { env } = process
    const before = { ...env }
    await synthesise()
    try {
      Object.assign(env, { TERM: 'other', SHLVL: '7', npm_config_port: '1' })
      await synthesise()
      expect(runs()).toBe(1)
      env.ORDERS_TTL = '30'
      await synthesise()
      expect(runs()).toBe(2)
    } finally {
      for (const name of Object.keys(env)) if (!(name in before)) delete env[name]
      Object.assign(env, before)
    }
  })

  test('two starts at the same time get the same', async () => {
    const [first, second] = await Promise.all([synthesise(), synthesise()])
    expect(first).toBe(second)
    expect(existsSync(join(first, 'manifest.json'))).toBe(true)
    expect(readdirSync(join(first, '..'))).toHaveLength(1)
  })

  test('old results go, those of today stay', async () => {
    const results: string[] = []
    for (let n = 0; n < 7; n++) {
      const result = await synthesise({ context: { n } })
      results.push(result)
      // The older the longer ago.
      const ago = new Date(Date.now() - (7 - n) * 5 * 3_600_000)
      utimesSync(result, ago, ago)
    }
    await synthesise({ context: { n: 'last' } })
    expect(results.filter((result) => existsSync(result))).toEqual(results.slice(3))
  })

  test('that is given up is not left running', async () => {
    write('bin/app.mjs', 'setInterval(() => {}, 1000)')
    await expect(synthesise({ signal: AbortSignal.timeout(300) })).rejects.toThrow(/aborted/)
    expect(readdirSync(join(directory, 'node_modules/.cache/pushpop'))).toEqual([])
  })
})

describe('an app in TypeScript whose imports have no extensions', () => {
  const app = () => synthesiseApp({ app: join(directory, 'bin/app.ts') })
  const command = (with_: string) => write('cdk.json', `{"app":"npx ${with_} bin/app.ts"}`)
  beforeEach(() => {
    write('lib/stack.ts', "export const text: string = '{}'")
    write(
      'bin/app.ts',
      `import { writeFileSync } from 'node:fs'
      import { text } from '../lib/stack'
      writeFileSync(process.env.CDK_OUTDIR + '/manifest.json', text)`,
    )
  })

  test('runs with tsx if cdk.json names it', async () => {
    command('tsx')
    write('node_modules/tsx/package.json', '{"exports":{".":"./loader.mjs"}}')
    write(
      'node_modules/tsx/loader.mjs',
      `import { registerHooks } from 'node:module'
      registerHooks({
        resolve: (name, context, next) => next(name.endsWith('/stack') ? name + '.ts' : name, context),
      })`,
    )
    expect(existsSync(join(await app(), 'manifest.json'))).toBe(true)
  })

  test('runs with ts-node if cdk.json names it', async () => {
    command('ts-node --prefer-ts-exts')
    write('node_modules/ts-node/package.json', '{}')
    write(
      'node_modules/ts-node/register.js',
      `const module_ = require('node:module')
      const text = "require('node:fs').writeFileSync(process.env.CDK_OUTDIR + '/manifest.json', '{}')"
      module_._extensions['.ts'] = (loaded, file) => loaded._compile(text, file)`,
    )
    expect(existsSync(join(await app(), 'manifest.json'))).toBe(true)
  })

  test('is refused with the command that installs what cdk.json names', async () => {
    command('tsx')
    await expect(app()).rejects.toThrow(
      /Cannot find module .*cdk\.json runs it with tsx, which is not installed: npm install --save-dev tsx$/,
    )
  })

  test('is refused with what to do if cdk.json names nothing', async () => {
    await expect(app()).rejects.toThrow(/Cannot find module .*; else install tsx .*"npx tsx /)
  })
})

describe('why an app failed', () => {
  test.each([
    [
      'an error with a stack',
      'a warning\nfile:///app.ts:3\n\nTypeError: no such thing\n    at a (b)\n\nNode.js v24',
      'no such thing',
    ],
    [
      'a build with several mistakes',
      'Error: Build failed with 2 errors:\na.ts:1:2: ERROR: x\nb.ts:3:4: ERROR: y\n    at z',
      'Build failed with 2 errors: a.ts:1:2: ERROR: x b.ts:3:4: ERROR: y',
    ],
    [
      'what does not compile',
      'file:///app.ts:7\n  const\n  ^^^\n\nSyntaxError: Unexpected token\n    at x',
      'Unexpected token (/app.ts:7)',
    ],
    ['a code of Node', 'Error [ERR_X]: bad\n    at x', 'bad'],
    ['a sentence', 'auth must be iam or jwt\n', 'auth must be iam or jwt'],
    ['an app that printed nothing', '', ''],
  ])('is found in the output of %s', (_, output, reason) => {
    expect(findReason(output)).toBe(reason)
  })
})
