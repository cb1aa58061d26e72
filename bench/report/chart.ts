// Two charts in one SVG: throughput by number of producers, and write units by algorithm. Bars in
// groups, values above them, and nothing that needs a legend elsewhere.

import type { Algorithm, Row } from '../rows.ts'

const series: readonly { algorithm: Algorithm; label: string; colour: string }[] = [
  { algorithm: 'bare', label: 'bare UpdateItem (the limit)', colour: '#b8bec9' },
  { algorithm: 'pushpop', label: 'PushPop', colour: '#2563eb' },
  { algorithm: 'message', label: 'a row a message, with an index', colour: '#d9a441' },
  { algorithm: 'sources', label: "the sources' segments", colour: '#c2554d' },
]

const WIDTH = 960
const HEIGHT = 400
const PANEL = { top: 92, bottom: 330 }
const font = `font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"`

const caption =
  '200-byte items, embedded DynamoDB with 5 ms added to each request, all producers on one machine'

const valueText = (value: number): string =>
  value >= 10 ? Math.round(value).toLocaleString('en') : value.toFixed(1)

type Value = { readonly algorithm: Algorithm; readonly group: string; readonly value: number }

export function chart(rows: readonly Row[]): string {
  const values = (name: 'throughput' | 'units') =>
    rows.flatMap(({ point, value }) => (point?.chart === name ? [{ ...point, value }] : []))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" ${font}>`,
    '<title>PushPop: throughput and write units against other algorithms</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    legend(),
    panel(40, 500, 'Pushes a second to one queue', values('throughput')),
    panel(590, 330, 'Write units an item', values('units')),
    text(40, 384, caption, { size: 12, fill: '#6b7280' }),
    '</svg>',
    '',
  ].join('\n')
}

function legend(): string {
  let x = 40
  return series
    .map(({ label, colour }) => {
      const entry =
        `<rect x="${x}" y="20" width="12" height="12" rx="2" fill="${colour}"/>` +
        text(x + 18, 31, label, { size: 13, fill: '#374151' })
      x += 46 + label.length * 6.9
      return entry
    })
    .join('\n')
}

function panel(left: number, width: number, title: string, values: readonly Value[]): string {
  const groups = [...new Set(values.map(({ group }) => group))]
  const scale = niceScale(Math.max(1, ...values.map(({ value }) => value)))
  const y = (value: number) => PANEL.bottom - (value / scale.most) * (PANEL.bottom - PANEL.top)
  const groupWidth = width / Math.max(1, groups.length)
  const parts = [text(left, 72, title, { size: 15, fill: '#111827', weight: 600 })]

  for (let tick = 0; tick <= scale.most; tick += scale.step) {
    const colour = tick === 0 ? '#6b7280' : '#e5e7eb'
    parts.push(
      `<line x1="${left}" x2="${left + width}" y1="${y(tick)}" y2="${y(tick)}" stroke="${colour}"/>`,
    )
  }
  for (const [i, group] of groups.entries()) {
    const present = series.filter(({ algorithm }) =>
      values.some((value) => value.group === group && value.algorithm === algorithm),
    )
    const barWidth = Math.min(42, (groupWidth * 0.84) / present.length)
    const middle = left + groupWidth * (i + 0.5)
    parts.push(text(middle, PANEL.bottom + 22, group, { size: 13, fill: '#374151', centre: true }))
    for (const [j, { algorithm, colour }] of present.entries()) {
      const { value = 0 } =
        values.find((it) => it.group === group && it.algorithm === algorithm) ?? {}
      const x = middle + (j - present.length / 2) * barWidth
      const height = Math.max(1, PANEL.bottom - y(value))
      parts.push(
        `<rect x="${x + 2}" y="${PANEL.bottom - height}" width="${barWidth - 4}" height="${height}" rx="2" fill="${colour}"/>`,
        text(x + barWidth / 2, PANEL.bottom - height - 5, valueText(value), {
          size: 11,
          fill: '#374151',
          centre: true,
        }),
      )
    }
  }
  return parts.join('\n')
}

/** Steps of 1, 2 or 5 times a power of ten, about five of them. */
function niceScale(most: number): { readonly step: number; readonly most: number } {
  const rough = most / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  return { step, most: Math.ceil(most / step) * step }
}

type TextStyle = {
  readonly size: number
  readonly fill: string
  readonly weight?: number
  readonly centre?: boolean
}

function text(x: number, y: number, content: string, style: TextStyle): string {
  const escaped = content.replace(/&/g, '&amp;').replace(/</g, '&lt;')
  const weight = style.weight === undefined ? '' : ` font-weight="${style.weight}"`
  const anchor = style.centre ? ' text-anchor="middle"' : ''
  return `<text x="${x}" y="${y}" font-size="${style.size}" fill="${style.fill}"${weight}${anchor}>${escaped}</text>`
}
