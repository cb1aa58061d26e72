import * as v from 'valibot'
import { described } from './fields.ts'

export const count = (description: string) =>
  described(v.pipe(v.number(), v.integer(), v.minValue(0)), description)

export const items = () => described(v.array(v.any()), 'The items’ own JSON, byte for byte.')

export const time = (description: string) =>
  described(v.number(), `${description} Epoch seconds with a fraction.`)
