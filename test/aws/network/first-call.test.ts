// A connection dies while nobody looks. The first call to come then may not end in "nobody knows".

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { type Embedded, startEmbedded } from '../../../testing/index.ts'
import { freeze } from '../../support/freeze.ts'
import { loopbackCertificate } from '../../support/loopback-certificate.ts'
import { type NetworkProxy, startNetworkProxy } from '../../support/network-proxy.ts'
import { startTlsFront, type TlsFront } from '../../support/tls-front.ts'
import {
  bucketName,
  type Client,
  type FirstCallsSetting,
  kinds,
  openFirstCalls,
} from './first-calls.ts'
import type { Order } from './frozen-process.ts'

/** A sample; `npm run nightly` makes many more. */
const ROUNDS = Number(process.env.PUSHPOP_ROUNDS ?? 5)
const rounds = Array.from({ length: ROUNDS }, (_, round) => round)
const allWell = kinds.map(() => 'ok')

let embedded: Embedded
beforeAll(async () => {
  // What is tested is our end of the wire.
  embedded = await startEmbedded({ environment: {} })
  await embedded.createBucket(bucketName)
})
afterAll(() => embedded.stop())

/** A table of its own for each test, and a way to it. */
async function way(
  client: Client,
  tableName: string,
  storeEndpoint = embedded.dynamodbEndpoint,
): Promise<[NetworkProxy, FirstCallsSetting]> {
  await embedded.createTable(tableName)
  const proxy = await startNetworkProxy(storeEndpoint)
  onTestFinished(() => proxy.close())
  const { dynamodbEndpoint, s3Endpoint } = embedded
  const endpoints = { dynamodbEndpoint, s3Endpoint }
  return [proxy, { endpoints, proxyEndpoint: proxy.endpoint, tableName, client }]
}

const clients = ['SDK', 'lean'] as const

describe.each(clients)(
  'By the %s client, the first call on a connection that was forgotten while it was idle',
  (client) => {
    it.each(['reset', 'dropped'] as const)('is made on another: %s.', async (how) => {
      const [proxy, setting] = await way(client, `forgotten-${how}-${client}`)
      let pausedMs = 0
      const calls = openFirstCalls(setting, () => Date.now() + pausedMs)
      onTestFinished(() => calls.close())
      for (const round of rounds) {
        await calls.beforePause(round)
        proxy.forget(how)
        pausedMs += 5_000
        expect(await calls.afterPause(round)).toEqual(allWell)
      }
      expect(await calls.faultsAfter(ROUNDS)).toEqual([])
    })
  },
)

// Windows knows no signal that stops a process.
const thaw = describe.skipIf(process.platform === 'win32')
// Both clients send through one handler, which decides: here the one that the engine has will do.
thaw('The first call after a thaw', () => {
  const script = join(import.meta.dirname, 'frozen-process.ts')
  const trusted = join(inject('folderOfTheRun'), 'loopback-certificate.pem')
  let front: TlsFront
  beforeAll(async () => {
    writeFileSync(trusted, loopbackCertificate)
    front = await startTlsFront(embedded.dynamodbEndpoint)
  })
  afterAll(() => front.close())

  // What comes first is read first, and both ways must do.
  it.each([
    ['closed', 'before', 'https'],
    ['closed', 'after', 'https'],
    ['reset', 'before', 'https'],
    ['reset', 'after', 'https'],
    ['closed', 'after', 'http'],
  ] as const)('is made on another connection: one %s %s the call came, %s.', async (...fate) => {
    const [how, when, protocol] = fate
    const store = protocol === 'https' ? front : { endpoint: embedded.dynamodbEndpoint }
    const [proxy, setting] = await way('lean', fate.join('-'), store.endpoint)
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: trusted }
    const child = fork(script, [JSON.stringify(setting)], { env })
    // Frozen too, should it fail meanwhile.
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'message')
    for (const round of rounds) {
      await ask(child, { what: 'beforePause', round })
      await freeze(child)
      if (when === 'before') await proxy.end(how)
      const answered = ask(child, { what: 'afterPause', round })
      if (when === 'after') await proxy.end(how)
      child.kill('SIGCONT')
      expect(await answered).toEqual(allWell)
    }
    expect(await ask(child, { what: 'faultsAfter', round: ROUNDS })).toEqual([])
  })
})

async function ask(child: ChildProcess, order: Order): Promise<unknown> {
  const answer = once(child, 'message')
  child.send(order)
  return (await answer)[0]
}
