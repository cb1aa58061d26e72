import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { rooms } from '../../scripts/imports/rooms.ts'
import { checkImports } from '../../scripts/imports.ts'

const root = resolve(import.meta.dirname, '../..')

const problemsOf = (sources: Readonly<Record<string, string>>) =>
  checkImports(new Map(Object.entries(sources)), rooms)

describe('the way of the imports', () => {
  it.each([
    ['what all share', 'shared/a.ts', "import { b } from '../aws/b.ts'", 'aws/b.ts'],
    ['rate', 'rate/a.ts', "import { b } from '../engine/b.ts'", 'engine/b.ts'],
    [
      'the engine’s pure part',
      'engine/core/a.ts',
      "import {\n  type B,\n  b,\n} from '../requests/b.ts'",
      'engine/requests/b.ts',
    ],
    [
      'types',
      'engine/a.ts',
      "import type { B } from '../lambdas/runtime/b.ts'",
      'lambdas/runtime/b.ts',
    ],
    [
      'what is passed on',
      'lambdas/http/a.ts',
      "export * from '../consumer/b.ts'",
      'lambdas/consumer/b.ts',
    ],
    [
      'what is loaded later',
      'lambdas/consumer/a.ts',
      "const b = () => import('../handlers/b.ts')",
      'lambdas/handlers/b.ts',
    ],
    ['side effects', 'lambdas/background/a.ts', "import '../http/b.ts'", 'lambdas/http/b.ts'],
    ['the client', 'client/a.ts', "import { b } from '../engine/b.ts'", 'engine/b.ts'],
    ['the stack', 'lib/a.ts', "import { b } from '../engine/queues.ts'", 'engine/queues.ts'],
    ['the local stack', 'local/a.ts', "import { b } from '../cli/b.ts'", 'cli/b.ts'],
    ['the benchmark', 'bench/a.ts', "import { b } from '../test/b.ts'", 'test/b.ts'],
  ])('refuses a way up: %s', (_, file, text, imported) => {
    expect(problemsOf({ [file]: `${text}\n`, [imported]: '' })).toEqual([
      expect.stringContaining(`${file} imports ${imported}, and `),
    ])
  })

  it('lets a room import itself, the rooms below it, and what is not ours', () => {
    const text = [
      "import { join } from 'node:path'",
      "import { send } from './send.ts'",
      "import { QueueError } from '../../shared/errors.ts'",
      "import packageJson from '../../package.json' with { type: 'json' }",
      "const code = `import { up } from '../handlers/up.ts'`",
    ].join('\n')
    const others = ['lambdas/http/send.ts', 'shared/errors.ts', 'lambdas/handlers/up.ts']
    const sources = Object.fromEntries(others.map((file) => [file, '']))
    expect(problemsOf({ 'lambdas/http/a.ts': text, ...sources })).toEqual([])
  })

  it('refuses a circle, also of types', () => {
    const circle = {
      'cli/a.ts': "import type { B } from './verify/b.ts'",
      'cli/verify/b.ts': "import type { C } from './c.ts'",
      'cli/verify/c.ts': "import type { A } from '../a.ts'",
    }
    expect(problemsOf(circle)).toEqual([
      'These import each other: cli/a.ts, cli/verify/b.ts, cli/verify/c.ts',
    ])
  })

  it('lets tests go round, whose checkers and models are read together, but not with what they test', () => {
    const inTests = {
      'test/proofs/ledger.ts': "import type { Rule } from './rule.ts'",
      'test/proofs/rule.ts': "import type { Ledger } from './ledger.ts'",
    }
    expect(problemsOf(inTests)).toEqual([])
    const withTested = {
      'testing/a.ts': "import type { B } from '../test/b.ts'",
      'test/b.ts': "import type { A } from '../testing/a.ts'",
    }
    expect(problemsOf(withTested)).toContain('These import each other: test/b.ts, testing/a.ts')
  })

  it('knows every folder that has code', () => {
    expect(problemsOf({ 'attic/a.ts': '' })).toEqual([
      'attic/a.ts is in no room: name its folder in scripts/imports/rooms.ts',
    ])
    const folders = readdirSync(root, { withFileTypes: true })
      .filter(
        (entry) =>
          entry.isDirectory() && !/^(\.|node_modules|cdk\.out|dist|coverage)/.test(entry.name),
      )
      .map(({ name }) => name)
      .filter((name) =>
        readdirSync(join(root, name), { recursive: true }).some(
          (path) => /\.m?ts$/.test(String(path)) && !/[\\/]dist[\\/]/.test(String(path)),
        ),
      )
    const named = new Set(Object.keys(rooms).map((room) => room.split('/')[0]))
    expect(folders.filter((folder) => !named.has(folder))).toEqual([])
  })
})

describe('Biome', () => {
  let folder = ''
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** The files that a rule objects to, under the settings of this repository. */
  function objections(rule: string, files: Readonly<Record<string, string>>): string[] {
    folder = mkdtempSync(join(tmpdir(), 'pushpop-lint-'))
    for (const path of ['biome.json', 'scripts/lint']) {
      cpSync(join(root, path), join(folder, path), { recursive: true })
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
    const args = [biome, 'lint', '--vcs-enabled=false', '--reporter=json', '.']
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    const found = [...stdout.matchAll(RegExp(`"category":"${rule}".*?"path":"(.*?)"`, 'gs'))]
    return found.map(([, path]) => path as string).sort()
  }

  it('refuses a circle at run time within a folder, and none of types.', () => {
    const files = {
      'a.ts': "import { b } from './b.ts'\n\nexport const a = () => b()\n",
      'b.ts': "import { a } from './a.ts'\n\nexport const b = (): unknown => a()\n",
      'c.ts': "import type { D } from './d.ts'\n\nexport type C = { d?: D }\n",
      'd.ts': "import type { C } from './c.ts'\n\nexport type D = { c?: C }\n",
    }
    expect(objections('lint/suspicious/noImportCycles', files)).toEqual(['a.ts', 'b.ts'])
  })

  it('refuses a sum that is read before a wait.', () => {
    const files = {
      'early.ts': 'export const add = async (sum: { of: number }) => {\n  sum.of += await 1\n}\n',
      'late.ts':
        'export const add = async (sum: { of: number }) => {\n  const n = await 1\n  sum.of += n\n}\n',
    }
    expect(objections('plugin', files)).toEqual(['early.ts'])
  })
})
