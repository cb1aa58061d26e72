import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { answerTimeoutsMs } from '../foundation/network/answer-timeouts.ts'
import { createRequestHandler } from '../foundation/network/request-handler.ts'
import type { EventsPort } from './put-events.ts'

/** The SDK sends once: `put-events.ts` repeats entry by entry, and counts a late answer as an error. */
export function eventBridge(): EventsPort {
  const client = new EventBridgeClient({
    maxAttempts: 1,
    requestHandler: createRequestHandler({ answerTimeoutMs: answerTimeoutsMs.eventBridge }),
  })
  return {
    async putEvents(entries) {
      const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: [...entries] }))
      return Entries
    },
  }
}
