// That npm's scripts, the nightly proofs and the workflows name what is there.

import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { proofsOf } from '../../scripts/nightly.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const proofs = proofsOf(Date.now(), 1)

it.each(Object.entries(packageJson.scripts))(
  '`npm run %s` installs what is missing, and runs a file that is there on Node 24',
  (_, command) => {
    // Nothing that only a POSIX shell knows: `npm start` is for Windows too.
    const [, file = ''] = /^node scripts\/bootstrap\.mjs (\S+)/.exec(command) ?? []
    expect([file, existsSync(join(root, file))]).toEqual([expect.stringMatching(/./), true])
  },
)

it.each(proofs.map((proof) => [proof.name, proof.command] as const))(
  'the nightly proof %s runs files that are there',
  (_, [script = '', ...args]) => {
    const files = [script, ...args.filter((arg) => arg.endsWith('.ts'))]
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  },
)

it('gives each night its own seeds', () => {
  const day = 86_400_000
  const [today, tomorrow] = [0, day].map((ms) =>
    proofsOf(day * 20_000 + ms, 1)[0]?.command.join(' '),
  )
  expect(today).not.toBe(tomorrow)
})

it('the workflows run each nightly proof, and the gate', () => {
  const [, matrix = ''] =
    /proof:\n((?: +- .*\n)+)/.exec(read('.github/workflows/nightly.yml')) ?? []
  expect(matrix.match(/[\w-]+$/gm)).toEqual(proofs.map(({ name }) => name))
  expect(read('.github/workflows/ci.yml')).toMatch(/run: npm test$/m)
})
