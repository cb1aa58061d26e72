import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { msIn } from '../../cli/arguments.ts'
import { exitCodes } from '../../cli/failure.ts'
import { commands } from '../../cli/run-cli.ts'
import { placeOf } from '../../cli/target/place.ts'
import { nameMeant } from '../../shared/options.ts'
import { run, spawnCli } from './a-run.ts'

describe('a sentence says what is wrong with a command line, with exit code 2', () => {
  test.each([
    ['psuh q', 'There is no command "psuh"; did you mean push?'],
    ['xyzzy', 'There is no command "xyzzy"; pushpop help lists them'],
    ['push', 'Cannot push because QUEUE is missing; see: pushpop help push'],
    [
      'push q 1 --prioriti 4',
      'Cannot push because there is no option --prioriti; did you mean --priority?',
    ],
    [
      'pop q --wholly-else',
      'Cannot pop because there is no option --wholly-else; see: pushpop help pop',
    ],
    [
      'push q -5',
      'Cannot push because there is no option -5 (a word that begins with - goes behind --); see: pushpop help push',
    ],
    ['pop q --count', '--count needs a value: --count N'],
    ['pop q --count --ack', '--count needs a value: --count N'],
    ['pop q --count=0', '--count must be an integer from 1 to 100, not "0"'],
    ['pop q --count 1.5', 'must be an integer from 1 to 100, not "1.5"'],
    ['push q 1 --priority -1', '--priority must be an integer from 0'],
    ['pop q --ack=yes', '--ack takes no value'],
    ['pop q --auth basic', '--auth must be iam, token or none, not "basic"'],
    ['pop a/b', '"a/b" is not a queue id'],
    ['redrive a-deadletter-deadletter', '; a dead-letter queue has none of its own'],
    ['pop a b', '"b" is one word too many'],
    ['ack q', 'Cannot ack because LOCK is missing'],
    ['ack q A B --ids x', '--ids goes with one lock'],
    ['push q 1 --file x', 'items and --file contradict each other'],
    ['push q 1 --key ä', '--key must be 1 to 110 printable ASCII'],
    ['drain q --append', '--append needs --file'],
    ['export q --resume', '--resume needs --file'],
    ['purge q', 'there is no terminal to ask on; use --yes'],
    ['stats --watch', 'stdout is not a terminal'],
    ['stats q --prefix a', 'queues and --prefix contradict each other'],
    ['doctor q', 'give --table and --bucket'],
    ['pop q --table t', '--table needs --bucket'],
    ['pop q --bucket b', '--bucket needs --table'],
    ['pop q --endpoint localhost:1', 'must be an address such as http'],
    ['pop q --table t --endpoint http://h', '--endpoint and --table contradict each other'],
    ['pop q --auth token', 'needs the token in the variable PUSHPOP_TOKEN'],
  ])('%s', async (line, says) => {
    const { code, stdout, stderr } = await run(line)
    expect(stderr).toContain(says)
    expect(stderr.trimEnd()).not.toContain('\n')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  test('as JSON if that was asked for, on stderr', async () => {
    const { code, stdout, stderr } = await run('pop q --json --cuont 1')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({ success: false, error_code: 'WRONG_USAGE' })
  })
})

describe('help', () => {
  test('is shown for nothing at all, as a mistake', async () => {
    const { code, stdout, stderr } = await run([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('pushpop COMMAND')
  })

  test.each(Object.keys(commands))('%s has a page with an example', async (name) => {
    const asked = await run(`help ${name}`)
    expect(asked.code).toBe(0)
    expect(asked.stdout).toMatch(/Examples?:\n\n( {2}.*pushpop .*\n)+$/)
    // In the middle of a line that is wrong, too.
    expect(await run(`${name} --nonsense --help`)).toEqual(asked)
    for (const line of asked.stdout.split('\n')) expect(line.length).toBeLessThan(116)
  })

  test('names every exit code, as the pages do', async () => {
    const listed = (text: string, opening: string) => {
      const [, list = ''] = text.split(opening)
      return list.split('\n\n')[0]?.replaceAll('\n', ' ') ?? ''
    }
    const page = (name: string) =>
      readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8')
    const inHelp = listed((await run('help')).stdout, 'Exit codes: ')
    const inTable = listed(page('cli.md'), '| Exit code | |')
    const inDecision = listed(page('decisions/0017-the-command-line.md'), '**Exit codes ')
    for (const code of Object.values(exitCodes)) {
      expect(inHelp).toMatch(new RegExp(`(^|, )${code} `))
      expect(inTable).toContain(`| ${code} | `)
      if (code !== exitCodes.done) expect(inDecision).toMatch(new RegExp(`[( ]${code}[), ]`))
    }
  })

  test('says what version it is', async () => {
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('the nearest word', () => {
  test.each([
    ['prioriti', 'priority'],
    ['pritoriy', 'priority'],
    ['lim', 'limit'],
    ['elephant', undefined],
    ['x', undefined],
  ])('to %s is %s', (word, meant) => {
    expect(nameMeant(word, ['priority', 'limit', 'file'])).toBe(meant)
  })
})

describe('the place', () => {
  const local = { kind: 'http', url: 'http://localhost:8000', auth: 'none', asTyped: '' }
  test.each([
    { name: 'is this machine by itself', given: {}, env: {}, place: local },
    {
      name: 'is what the environment says',
      given: {},
      env: { PUSHPOP_ENDPOINT: 'https://a.execute-api.eu-west-1.amazonaws.com/' },
      place: { url: 'https://a.execute-api.eu-west-1.amazonaws.com', auth: 'iam' },
    },
    {
      name: 'has a token where there is one',
      given: { endpoint: 'https://q.example' },
      env: { PUSHPOP_TOKEN: 't' },
      place: { url: 'https://q.example', auth: 'token' },
    },
    {
      name: 'is a table where the environment names only that',
      given: {},
      env: { PUSHPOP_TABLE: 't', PUSHPOP_BUCKET: 'b' },
      place: { kind: 'store', table: 't', bucket: 'b', asTyped: '' },
    },
    {
      name: 'on the command line goes before the environment',
      given: { table: 't2' },
      env: { PUSHPOP_ENDPOINT: 'http://h', PUSHPOP_BUCKET: 'b' },
      place: { kind: 'store', table: 't2', bucket: 'b', asTyped: ' --table t2 --bucket b' },
    },
  ] as const)('$name', ({ given, env, place }) => {
    expect(placeOf(given, env)).toMatchObject(place)
  })
})

describe('npm runs it in the folder of the package', () => {
  test('and a file is found where the command was typed', async () => {
    const { stderr } = await spawned(['import', 'q', '--file', 'lines.jsonl', ...nowhere], {
      npm_lifecycle_event: 'pushpop',
      INIT_CWD: import.meta.dirname,
    })
    expect(stderr).toContain('Cannot read lines.jsonl because there is no such file')
    const found = await spawned(['push', 'q', '--file', 'a-run.ts', ...nowhere], {
      npm_lifecycle_event: 'pushpop',
      INIT_CWD: import.meta.dirname,
    })
    expect(found.stderr).toContain('Cannot push line 1 of a-run.ts')
  })
})

const nowhere = ['--endpoint', 'http://localhost:8999']

async function spawned(args: readonly string[], env: Record<string, string>) {
  const process = spawnCli(args, env)
  return { code: await process.ended, stderr: process.stderr() }
}

describe('a time', () => {
  const read = (time: string) => msIn('push', 'deliver-at', time)

  test.each([
    ['2027-01-01T09:00Z', Date.UTC(2027, 0, 1, 9)],
    ['2028-02-29T23:59:59.5+02:00', Date.UTC(2028, 1, 29, 21, 59, 59, 500)],
    ['2027-01-01T00:00:07-11:30', Date.UTC(2027, 0, 1, 11, 30, 7)],
  ])('%s is what it says', (time, ms) => {
    expect(read(time)).toBe(ms)
  })

  test.each([
    ['tomorrow', 'is no time', 'write it as 2027-01-01T09:00Z'],
    ['2027-01-01', 'is no time', 'write it as 2027-01-01T09:00Z'],
    ['1 Jan 2027 09:00 Z', 'is no time', 'write it as 2027-01-01T09:00Z'],
    [
      '2027-01-01T09:00',
      'has no time zone',
      'write Z behind it for UTC, or an offset such as +02:00',
    ],
    ['2027-02-30T09:00Z', 'is on no calendar or clock', 'write it as 2027-01-01T09:00Z'],
    ['2027-06-31T00:00+02:00', 'is on no calendar or clock', 'write it as 2027-01-01T09:00Z'],
    ['2027-13-01T00:00Z', 'is on no calendar or clock', 'write it as 2027-01-01T09:00Z'],
    ['2027-01-01T24:00Z', 'is on no calendar or clock', 'write it as 2027-01-01T09:00Z'],
    ['2027-01-01T09:00+25:00', 'is on no calendar or clock', 'write it as 2027-01-01T09:00Z'],
    ['9999-01-01T00:00Z', 'is too far away', 'give a time from 2000 to 5000'],
    ['1971-01-01T00:00Z', 'is too far away', 'give a time from 2000 to 5000'],
  ])('%s is refused, because it %s', (time, why, hint) => {
    expect(() => read(time)).toThrow(
      `Cannot push because --deliver-at ${why}: ${JSON.stringify(time)}; ${hint}`,
    )
  })
})
