// Ctrl-C, kill -9 and readers that go away: no lock is left behind, and no item is lost.

import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { until } from '../local/a-stack.ts'
import { jsonLines, run, spawnCli } from './a-run.ts'
import { startStore, useFolder, usePlace } from './places.ts'

const { queue, pushpop, spawned } = usePlace(startStore)
const file = useFolder()
const numbers = (count: number) => Array.from({ length: count }, (_, n) => `${n}\n`).join('')

async function stateOf(q: string) {
  const { stdout } = await pushpop(`stats ${q} --json`)
  return JSON.parse(stdout).queues[0] as { count: number; locked_count: number }
}

describe('a drain', () => {
  test('that is interrupted acknowledges what it has written, and leaves no lock', async () => {
    const q = queue()
    await pushpop(`push ${q}`, { stdin: numbers(6_000) })
    const lines = file(q)
    const drain = spawned(`drain ${q} --file ${lines}`)
    await until(() => linesIn(lines) > 300)
    drain.child.kill('SIGINT')
    expect(await drain.ended).toBe(130)
    const written = linesIn(lines)
    expect(drain.stderr()).toMatch(/^Stopped\. Drained [\d,]+ items of q-\d+; the rest/)
    expect(await stateOf(q)).toMatchObject({ count: 6_000 - written, locked_count: 0 })
    expect(written).toBeLessThan(6_000)
  })

  test('that is killed again and again loses nothing and writes nothing twice', async () => {
    const q = queue()
    await pushpop(`push ${q}`, { stdin: numbers(3_000) })
    const lines = file(q)
    for (let kill = 1; kill <= 4; kill += 1) {
      const before = linesIn(lines)
      const drain = spawned(`drain ${q} --file ${lines} --append --competing`)
      await until(() => linesIn(lines) > before + 120 * kill)
      drain.child.kill('SIGKILL')
      await drain.ended
      // What it held is given back by hand here: nobody wants to wait a minute for it. A request
      // that was on its way may still land.
      await delay(100)
      await endLocks(q)
    }
    expect((await pushpop(`drain ${q} --file ${lines} --append`)).code).toBe(0)
    const items = jsonLines(readFileSync(lines, 'utf8')).map(({ item }) => item as number)
    // Not in order: a drain that passes by the lock of a dead one takes what is behind it first.
    expect(items.toSorted((a, b) => a - b)).toEqual([...Array(3_000).keys()])
  })

  test('whose reader has gone gives back what it could not write', async () => {
    const q = queue()
    await pushpop(`push ${q}`, { stdin: numbers(2_000) })
    const drain = spawned(`drain ${q}`)
    drain.child.stdout?.once('data', () => drain.child.stdout?.destroy())
    expect(await drain.ended).toBe(141)
    expect(drain.stderr()).toBe('')
    expect(await stateOf(q)).toMatchObject({ locked_count: 0 })
    expect((await stateOf(q)).count).toBeGreaterThan(0)
  })
})

test('A pop that is interrupted before its answer came gives back what it has locked.', async () => {
  const q = queue()
  await pushpop(`push ${q} 1 2`)
  const interrupt = AbortSignal.abort()
  const popped = await pushpop(`pop ${q} --ack`, { interrupt })
  expect(popped).toMatchObject({ code: 130, stdout: '' })
  expect(await stateOf(q)).toMatchObject({ count: 2, locked_count: 0 })
})

test('A push from a pipe sends what is there, and says where it was when it is interrupted.', async () => {
  const q = queue()
  const push = spawned(`push ${q}`)
  push.child.stdin?.write('1\n2\n')
  await until(async () => (await stateOf(q)).count === 2)
  push.child.kill('SIGINT')
  expect(await push.ended).toBe(130)
  expect(push.stderr()).toBe(`Stopped. Pushed before: 2 items, up to line 2, to ${q}.\n`)
})

test('A second Ctrl-C ends it at once.', async () => {
  // An address where connections are taken and nothing is ever answered.
  const { createServer } = await import('node:net')
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const pop = spawnCli(['pop', 'q', '--ack', '--endpoint', `http://127.0.0.1:${port}`])
  await new Promise((resolve) => server.once('connection', resolve))
  pop.child.kill('SIGINT')
  await delay(600)
  expect(pop.child.exitCode).toBe(null)
  // A process that was busy when the first came takes one that comes soon after for the same.
  const again = setInterval(() => pop.child.kill('SIGINT'), 600)
  pop.child.kill('SIGINT')
  expect(await pop.ended.finally(() => clearInterval(again))).toBe(130)
  server.close()
})

test('If nothing answers, a sentence says what to do.', async () => {
  const { code, stdout, stderr } = await run('push q 1 --endpoint http://localhost:8999')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(
    /^Cannot reach http:\/\/localhost:8999 because nothing answers there; start/,
  )
})

test('If no store answers where the environment says, a sentence names the address.', async () => {
  const at = 'http://127.0.0.1:8998'
  const store = { AWS_ENDPOINT_URL_DYNAMODB: at, AWS_ENDPOINT_URL_S3: at, AWS_REGION: 'eu-west-1' }
  const keys = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
  const look = spawnCli(['stats', 'q', '--table', 't', '--bucket', 'b'], { ...store, ...keys })
  expect(await look.ended).toBe(1)
  expect(look.stderr()).toMatch(
    /^Cannot reach the store at 127\.0\.0\.1:8998 because nothing answers there; /,
  )
})

function linesIn(file: string): number {
  try {
    return readFileSync(file, 'utf8').split('\n').length - 1
  } catch {
    // Not made yet.
    return 0
  }
}

/** Ends the locks of who was killed, as the minute that they live for would. */
async function endLocks(q: string): Promise<void> {
  const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb')
  const { DynamoDBDocumentClient, GetCommand, UpdateCommand } = await import(
    '@aws-sdk/lib-dynamodb'
  )
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}))
  const at = { TableName: 'cli', Key: { pk: `q#${q}`, sk: 'queue' } }
  const { Item } = await documents.send(new GetCommand({ ...at, ConsistentRead: true }))
  const locks = (Item?.K ?? {}) as Record<string, { x: number }>
  for (const [lockId, { x }] of Object.entries(locks)) {
    // Acknowledged, or ended here before.
    if (x <= 1) continue
    await documents.send(
      new UpdateCommand({
        ...at,
        UpdateExpression: 'SET K.#id.x = :past',
        ConditionExpression: 'attribute_exists(K.#id) AND K.#id.x > :past',
        ExpressionAttributeNames: { '#id': lockId },
        ExpressionAttributeValues: { ':past': 1 },
      }),
    )
  }
}
