import * as v from 'valibot'

export const count = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description))

export const time = (description: string) =>
  v.pipe(v.number(), v.description(`${description} Epoch seconds with a fraction.`))
