import { isDeepStrictEqual } from 'node:util'
import type { Client, Configuration, QueuePattern } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { Skipped, same } from '../claims.ts'
import { randomName } from '../names.ts'

/** A run looks at so many prefixes, and at so many queues of each: it changes nothing, and has little time. */
const PREFIXES_MAX = 10
const QUEUES_MAX = 10
const ID_LENGTH_MAX = 100

/** Only looks, because the patterns are the operator's. */
export const patterns: Check = {
  name: 'patterns',
  promise: 'A queue without settings of its own has those of the longest prefix in /queue-config',
  waits: true,
  steps: {
    'A queue that is not there would have the settings of its prefix': async ({ client }) => {
      const all = await patternsOf(client)
      for (const { prefix } of all.slice(0, PREFIXES_MAX)) {
        const id = `${prefix}${randomName()}`
        if (id.length > ID_LENGTH_MAX) continue
        const found = await client.queue(id).configuration()
        same(`the settings of ${id}`, settingsOf(found), settingsBy(all, id))
      }
    },

    'Queues that are there have them, two minutes after a change': async (stage) => {
      const { client, until, sweeperWithinMs } = stage
      for (const { prefix } of (await patternsOf(client)).slice(0, PREFIXES_MAX)) {
        let looked = 0
        for await (const { id } of client.queues({ prefix })) {
          looked += 1
          if (looked > QUEUES_MAX) break
          const isAsItMustBe = async () => {
            const found = await client.queue(id).configuration()
            if (found.source.from === 'queue') return true
            // Read again: somebody may be changing them.
            return isDeepStrictEqual(settingsOf(found), settingsBy(await patternsOf(client), id))
          }
          await until(`${id} to have the settings of its prefix`, isAsItMustBe, sweeperWithinMs)
        }
      }
    },
  },
}

async function patternsOf(client: Client): Promise<readonly QueuePattern[]> {
  const { patterns } = await client.queuePatterns()
  if (patterns.length > 0) return patterns
  throw new Skipped('this service has no settings of prefixes')
}

const settingsOf = ({ etag: _, ...settings }: Configuration) => settings

/** Written independently: it uses none of the code that it judges. */
function settingsBy(all: readonly QueuePattern[], id: string): unknown {
  const fitting = all.filter(({ prefix }) => id.startsWith(prefix) && !id.endsWith('-deadletter'))
  const longest = fitting.toSorted((a, b) => b.prefix.length - a.prefix.length)[0]
  return longest === undefined
    ? { segmentSize: 100, bufferSegments: 1, source: { from: 'default' } }
    : { ...longest.settings, source: { from: 'pattern', prefix: longest.prefix } }
}
