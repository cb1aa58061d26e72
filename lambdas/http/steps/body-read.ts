import { bodyText } from '../body-text.ts'
import { checkMediaType, checkNoForm } from '../media-type.ts'
import { bodyCallOf } from './body-call.ts'
import type { Step } from './step.ts'

/** The body as text, if there is one: its type first, then its size. */
export function bodyRead(): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      const { bytesMax, mediaTypes = 'json' } = bodyCallOf(exchange)
      if (event.body === undefined || event.body === '') return
      const headers = event.headers ?? {}
      checkMediaType(headers, mediaTypes)
      const text = bodyText(event, bytesMax)
      if (text === undefined) return
      checkNoForm(headers, text)
      exchange.text = text
    },
  }
}
