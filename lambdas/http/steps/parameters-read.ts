import type { Target } from '../exchange.ts'
import { addHeaderParameters, queryParameters, typedParameters } from '../parameters.ts'
import { nothing } from '../schemas/fields.ts'
import { validate } from '../validate.ts'
import type { Step } from './step.ts'

/** Reads parameters from the query and, if the call allows that, from headers. */
export function parametersRead(): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      const { kinds, endpoint } = exchange.target as Target
      const { parameters: schema = nothing, parametersAsHeaders, unchecked } = endpoint.call
      if (unchecked) return
      const found = queryParameters(event.rawQueryString)
      if (parametersAsHeaders) addHeaderParameters(found, event.headers ?? {}, Object.keys(kinds))
      exchange.parameters = validate(
        schema,
        typedParameters(found, kinds),
        'parameter',
        endpoint.call,
      )
    },
  }
}
