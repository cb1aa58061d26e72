// `pushpop verify` against a sound service, and against services that break one promise each.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chosenChecks } from '../../../cli/commands/verify.ts'
import { type Audience, type PlaySettings, play } from '../../../cli/verify/play.ts'
import { type Client, createClient, type QueueSummary } from '../../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../../testing/index.ts'
import { type Line, type RunOptions, run, wordsOf } from '../a-run.ts'
import { useFolder } from '../places.ts'
import { type Fault, startBrokenService } from './broken-service.ts'
import { faults, swapsTwo } from './faults.ts'

/** The sweeper's minute is a second. */
const SCHEDULE_SPEED = 60

type Step = { readonly name: string; readonly verdict: string; readonly reason?: string }
type Body = {
  readonly success: boolean
  readonly broken: number
  readonly undecided: number
  readonly kept_queues: readonly string[]
  readonly left_behind: readonly string[]
  readonly checks: readonly {
    readonly name: string
    readonly verdict: string
    readonly steps: readonly Step[]
  }[]
}

let stack: LocalStack
beforeAll(async () => {
  stack = await startLocalStack({ port: 0, scheduleSpeed: SCHEDULE_SPEED })
})
afterAll(() => stack?.stop())
const file = useFolder()

const verify = (line: Line, options?: RunOptions, url = stack.url) =>
  run(['verify', '--endpoint', url, ...wordsOf(line)], options)

async function verifyAsJson(line: Line, options?: RunOptions, url = stack.url) {
  const { code, stdout } = await verify([...wordsOf(line), '--json'], options, url)
  return { code, body: JSON.parse(stdout) as Body }
}

const stepsWith = ({ checks }: Body, verdict: string): readonly Step[] =>
  checks.flatMap(({ steps }) => steps.filter((step) => step.verdict === verdict))

const settingsFor = (url: string): PlaySettings => ({
  url,
  auth: { kind: 'none' },
  atOnce: 6,
  interrupt: new AbortController().signal,
})

const silent: Audience = { onOpen() {}, onStep() {}, async onEnd() {} }

/** The verdict on one sentence of a check. */
async function playStep(url: string, name: string, sentence: string, sweeperWithinMs = 20_000) {
  const [check] = chosenChecks(name)
  const steps = Object.entries(check?.steps ?? {}).filter(([step]) => step.startsWith(sentence))
  expect(steps).toHaveLength(1)
  const checks = [{ name, promise: '', steps: Object.fromEntries(steps) }]
  const { results } = await play(checks, { ...settingsFor(url), sweeperWithinMs }, silent)
  return results[0]?.steps[0]?.verdict
}

async function queuesLeft(): Promise<QueueSummary[]> {
  const client = createClient({ url: stack.url })
  const found: QueueSummary[] = []
  for await (const queue of client.queues({ prefix: 'pushpop-verify-' })) found.push(queue)
  return found
}

async function withFault<R>(fault: Fault, work: (url: string) => Promise<R>): Promise<R> {
  const service = await startBrokenService(stack.url, fault)
  try {
    return await work(service.url)
  } finally {
    await service.stop()
  }
}

describe('a sound service', () => {
  test('keeps every promise, and its queues are left empty', async () => {
    const report = file('report.md')
    const before = new Set((await queuesLeft()).map(({ id }) => id))
    const { code, body } = await verifyAsJson(`--report ${report}`)
    expect([...stepsWith(body, 'broken'), ...stepsWith(body, 'undecided')]).toEqual([])
    expect(stepsWith(body, 'skipped').map(({ name }) => name)).toEqual([
      'A queue that is not there would have the settings of its prefix',
      'Queues that are there have them, two minutes after a change',
      'The list of queues is refused',
      'A queue is refused',
      'An address that is none is refused as well',
      'GET /healthz is open to everybody',
      'A push to an empty queue is announced',
    ])
    expect({ code, ...body }).toMatchObject({ code: 0, success: true, left_behind: [] })
    expect(readFileSync(report, 'utf8')).toContain('All 18 promises hold; 3 were skipped')

    const left = (await queuesLeft()).filter(({ id }) => !before.has(id))
    expect(left.filter(({ count }) => count !== 0)).toEqual([])
    // The service forgets an empty queue that nobody has configured; these two are used again.
    const client = createClient({ url: stack.url })
    const states = await Promise.all(left.map(({ id }) => client.queue(id).inspect()))
    for (const { configuration, deadCount } of states) {
      expect({ configuration, deadCount }).toEqual({
        configuration: {
          segmentSize: 100,
          bufferSegments: 1,
          source: { from: expect.stringMatching(/^(queue|default)$/) },
        },
        deadCount: 0,
      })
    }
    const again = await verifyAsJson('--only configuration')
    expect(again.code).toBe(0)
    expect(body.kept_queues).toEqual(expect.arrayContaining([...again.body.kept_queues]))
  })

  test('is told about as Markdown where stdout is no terminal, without its address', async () => {
    const { code, stdout, stderr } = await verify('--only purge,events')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^## PushPop: 1 of 1 promise holds; 1 was skipped\n/)
    expect(stdout).toContain('| ✓ holds | **purge**: A purge empties')
    expect(stdout).toMatch(/\| purge \| \d+ \| \d+ ms \| \d+ ms \|/)
    expect(stdout).not.toContain(new URL(stack.url).host)
    expect(stderr).toContain('✓ purge')
  })

  test('is told about line by line on a terminal', async () => {
    const { code, stdout } = await verify('--only purge', { isTTY: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\S*✓\S* \S*purge .*2 of 2/)
    expect(stdout).toContain('1 of 1 promise holds.')
    expect(stdout).toMatch(/\d+ calls in [\d.]+ s, about \$0\.\d+ on AWS by an estimate\./)
  })
})

describe('the settings of prefixes', () => {
  const put = (capacity?: number) =>
    createClient({ url: stack.url }).configureQueuePatterns(
      capacity === undefined ? [] : [{ prefix: 'tenant-', settings: { capacity } }],
    )
  const sentences = ['A queue that is not there', 'Queues that are there']

  test('are looked at where there are any, and what does not have them is told', async () => {
    await put(7)
    try {
      for (const sentence of sentences) {
        expect(await playStep(stack.url, 'patterns', sentence)).toEqual({ kind: 'holds' })
      }
      await createClient({ url: stack.url }).queue('tenant-a').push(1)
      const forgetful: Fault = async (asked, pass) => {
        const answer = await pass(asked)
        return asked.url.pathname.endsWith('/config')
          ? { ...answer, text: answer.text.replace('"capacity":7', '"capacity":8') }
          : answer
      }
      await withFault(forgetful, async (url) => {
        for (const sentence of sentences) {
          const verdict = await playStep(url, 'patterns', sentence, 500)
          expect(verdict).toMatchObject({ kind: 'broken' })
        }
      })
    } finally {
      await put()
    }
  })
})

describe('the queues of a check', () => {
  /** Each purge of one of them is done, and its answer lost if that is said so. */
  const losing =
    (isLost: (path: string) => boolean): Fault =>
    async (asked, pass) => {
      const answer = await pass(asked)
      const { pathname } = asked.url
      if (!/-order-\d+\/purge$/.test(pathname) || !isLost(pathname)) return answer
      throw new Error('lost')
    }
  const verifyOrder = (isLost: (path: string) => boolean) =>
    withFault(losing(isLost), (url) => verifyAsJson('--only order', {}, url))

  test('are emptied though an answer is lost', async () => {
    const lost = new Set<string>()
    const isFirst = (path: string) => !lost.has(path) && lost.add(path).has(path)
    const { code, body } = await verifyOrder(isFirst)
    expect(lost.size).toBe(5)
    expect({ code, left: body.left_behind }).toEqual({ code: 0, left: [] })
  })

  test('are named if they cannot be emptied, and the run has failed', async () => {
    const { code, body } = await verifyOrder(() => true)
    expect(code).toBe(1)
    expect(body.left_behind).toHaveLength(5)
    for (const one of body.left_behind) {
      expect(one).toMatch(/^pushpop-verify-\S+-order-\d \(No answer came/)
    }
  })
})

describe('a service that', () => {
  test.concurrent.each(faults)('%s is caught by %s', async (_, check, sentence, make) => {
    const verdict = await withFault(make(), (url) => playStep(url, check, sentence))
    expect(verdict).toMatchObject({ kind: 'broken', reason: expect.any(String) })
  })

  test.concurrent('breaks a promise is told so, with what was found', async () => {
    const { code, stdout, stderr } = await withFault(swapsTwo(), (url) =>
      verify('--only order,configuration', {}, url),
    )
    expect(code).toBe(5)
    expect(stdout).toMatch(/^## PushPop: 1 of 2 promises hold; 1 is broken\n/)
    expect(stdout).toContain(
      '- **order** ✗ Items of one bulk push come back in that order: `the items: promised 0 at 0, found 1 (120',
    )
    expect(stderr).toContain('    ✗ Items of one bulk push come back in that order\n')
  })

  test.concurrent('answers without credentials is caught by authorisation', async () => {
    const env = { PUSHPOP_TOKEN: 'a-token' }
    const { code, body } = await verifyAsJson('--only authorisation --auth token', { env })
    expect(code).toBe(5)
    expect(stepsWith(body, 'broken')).toHaveLength(3)
  })

  test.concurrent('never ends an expired lock is caught by expiry', async () => {
    const fault: Fault = async (asked, pass) => {
      const answer = await pass(asked)
      return { ...answer, text: answer.text.replaceAll('"deliveries":1', '"deliveries":0') }
    }
    const verdict = await withFault(fault, (url) =>
      playStep(url, 'expiry', 'The sweeper alone', 3_000),
    )
    expect(verdict).toEqual({
      kind: 'broken',
      reason: 'waited 3 s for the sweeper to end an expired lock, in vain',
    })
  })

  test.concurrent('breaks off is not called broken, and its address stays out of the report', async () => {
    const fault: Fault = async (asked, pass) => {
      if (asked.url.pathname.endsWith('/pop')) throw new Error('breaks off')
      return pass(asked)
    }
    const [address, { code, stdout }] = await withFault(fault, async (url) => [
      url,
      await verify('--only purge', {}, url),
    ])
    expect(code).toBe(1)
    expect(stdout).toContain('NETWORK_ERROR: No answer came from the endpoint')
    expect(stdout).not.toContain(new URL(address).host)
  })

  test.concurrent('does not let us pop is not called broken: nothing was learnt', async () => {
    const fault: Fault = async (asked, pass) =>
      asked.url.pathname.endsWith('/pop')
        ? { status: 403, headers: {}, text: '{"message":"Forbidden"}' }
        : pass(asked)
    const { code, body } = await withFault(fault, (url) => verifyAsJson('--only order', {}, url))
    expect({ code, ...body }).toMatchObject({ code: 1, success: false, broken: 0, undecided: 1 })
  })

  test.concurrent('does not let us clean up is left alone', async () => {
    const asked: string[] = []
    const fault: Fault = async ({ url, ...rest }, pass) => {
      asked.push(url.pathname)
      return url.pathname.endsWith('/purge')
        ? { status: 403, headers: {}, text: '{"message":"Forbidden"}' }
        : pass({ url, ...rest })
    }
    const { code, stdout } = await withFault(fault, (url) => verify('--only order', {}, url))
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(asked.filter((path) => path.endsWith('/push'))).toEqual([])
  })
})

describe('a run that is interrupted', () => {
  test('empties its queues, and prints no report', async () => {
    const ending = new AbortController()
    let pushes = 0
    const fault: Fault = (asked, pass) => {
      if (asked.url.pathname.endsWith('/push')) pushes += 1
      if (pushes === 30) ending.abort()
      return pass(asked)
    }
    const underWayMax = 6
    const { code, stdout, stderr } = await withFault(fault, (url) =>
      verify([], { interrupt: ending.signal }, url),
    )
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(pushes).toBeLessThanOrEqual(30 + underWayMax)
    expect(stderr).toContain('Stopped. All queues of this run have been emptied.')
    expect((await queuesLeft()).filter(({ count }) => count !== 0)).toEqual([])
  })

  test('because nobody reads what it prints empties them too', async () => {
    const gone = new Error('the reader has gone')
    const onEnd = () => Promise.reject(gone)
    await expect(
      play(chosenChecks('order,looking'), settingsFor(stack.url), { ...silent, onEnd }),
    ).rejects.toBe(gone)
    expect((await queuesLeft()).filter(({ count }) => count !== 0)).toEqual([])
  })

  test('before it began has pushed nothing', async () => {
    const { code, stderr } = await verify([], { interrupt: AbortSignal.abort() })
    expect({ code, stderr }).toEqual({ code: 130, stderr: 'Stopped before anything was pushed.\n' })
  })
})

describe('the command line', () => {
  test('lists the checks', async () => {
    const { code, stdout } = await run('verify --list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^CHECK +PROMISE\norder +First in, first out/)
  })

  test.each([
    { args: ['--only', 'ordr'], says: 'there is no check "ordr"; did you mean order?' },
    { args: ['--table', 't', '--bucket', 'b'], says: 'Cannot verify a table' },
  ])('refuses $args', async ({ args, says }) => {
    const { code, stderr } = await run(['verify', ...args])
    expect(code).toBe(2)
    expect(stderr).toContain(says)
  })

  test('says where nothing answers', async () => {
    const { code, stderr } = await run('verify --endpoint http://localhost:8999')
    expect(code).toBe(1)
    expect(stderr).toContain('Cannot reach http://localhost:8999 because nothing answers there')
  })
})

// The operator may give the run's queues settings by their prefix. What these rule out is no broken promise. This comes
// last: functions remember patterns for a while after they are gone.
describe('a service whose operator gives all queues few deliveries and little room', () => {
  const put = (patterns: Parameters<Client['configureQueuePatterns']>[0]) =>
    createClient({ url: stack.url }).configureQueuePatterns(patterns)
  beforeAll(() => put([{ prefix: 'pushpop-', settings: { maxDeliveries: 1, capacity: 50 } }]))
  afterAll(() => put([]))

  const checks = 'order,locks,competing,acknowledge,dead-letters,bounds,configuration,purge,expiry'

  test('breaks no promise, and what could not be tried is said', async () => {
    const { code, body } = await verifyAsJson(`--only ${checks}`)
    const steps = body.checks.flatMap((check) => check.steps)
    expect(steps.filter(({ verdict }) => verdict === 'broken' || verdict === 'undecided')).toEqual(
      [],
    )
    const reasons = steps.flatMap(({ reason }) => reason ?? [])
    expect(
      reasons.filter((reason) => /has max_deliveries of 1: no item/.test(reason)),
    ).toHaveLength(9)
    expect(
      reasons.filter((reason) => /has a capacity of 50: this pushes/.test(reason)),
    ).toHaveLength(3)
    expect(reasons).toHaveLength(12)
    expect(code).toBe(0)
    expect((await queuesLeft()).filter(({ count }) => count !== 0)).toEqual([])
    // They have settings of their own, and these are the defaults of any queue.
    expect(body.kept_queues).toHaveLength(2)
    for (const id of body.kept_queues) {
      const { maxDeliveries, source } = await createClient({ url: stack.url })
        .queue(id)
        .configuration()
      expect({ maxDeliveries, source }).toEqual({ source: { from: 'queue' } })
    }
  })

  test('is still caught if it breaks another one', async () => {
    const { code } = await withFault(swapsTwo(), (url) => verify('--only looking,locks', {}, url))
    expect(code).toBe(5)
  })
})
