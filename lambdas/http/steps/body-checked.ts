import { readBody } from '../body-fields.ts'
import type { Target } from '../exchange.ts'
import { RequestError } from '../request-error.ts'
import { validate } from '../validate.ts'
import { bodyCallOf } from './body-call.ts'
import type { Step } from './step.ts'

const nothingRaw = { raw: new Set<string>() }

/** The body's fields, as the call's schema wants them. */
export function bodyChecked(): Step {
  return {
    before: ({ event: exchange }) => {
      const call = bodyCallOf(exchange)
      if (exchange.text === undefined) {
        if (call.kind === 'required') {
          throw new RequestError('INVALID_JSON', 'A body is missing; send a JSON object')
        }
        exchange.body = {}
        return
      }
      const fields = readBody(exchange.text, call.raw ?? nothingRaw)
      const schema = call.or !== undefined && call.or.field in fields ? call.or.schema : call.schema
      exchange.body = validate(schema, fields, 'field', (exchange.target as Target).endpoint.call)
    },
  }
}
