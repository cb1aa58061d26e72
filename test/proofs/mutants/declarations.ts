/**
 * Where the declarations of a source file begin and end, by name: functions, constants, classes, and the members
 * of a class as `Class.member`. It needs no compiler: it skips what may hold any text (comments, strings,
 * templates, regular expressions), counts brackets, and trusts the formatter, which begins each declaration of a
 * file at the start of a line, and each member of a class two spaces further in. A declaration ends where the next one
 * begins.
 */
export type Declaration = { readonly name: string; readonly from: number; readonly to: number }

export function declarationsIn(source: string): Declaration[] {
  const code = withoutText(source)
  const depths = depthsOf(code)
  const starts = [...code.matchAll(/^[\w@(]/gm)].filter(({ index }) => depths[index] === 0)
  const found: Declaration[] = []
  starts.forEach(({ index: from }, n) => {
    const to = starts[n + 1]?.index ?? source.length
    const head = code.slice(from, to)
    const name = /^(?:export )?(?:default )?(?:async )?(?:const|let|function\*?) ([\w$]+)/.exec(
      head,
    )?.[1]
    if (name !== undefined) add(found, { name, from, to })
    const ofClass = /^(?:export )?(?:abstract )?class (\w+)/.exec(head)?.[1]
    if (ofClass === undefined) return
    add(found, { name: ofClass, from, to })
    for (const member of membersIn(code, depths, { from, to })) {
      add(found, { ...member, name: `${ofClass}.${member.name}` })
    }
  })
  return found
}

/** The signatures of a function with several stand above it, and are a part of it. */
function add(found: Declaration[], declaration: Declaration): void {
  const last = found.at(-1)
  const isSame = last?.name === declaration.name
  if (isSame) found.pop()
  found.push({ ...declaration, from: isSame ? last.from : declaration.from })
}

function membersIn(
  code: string,
  depths: Uint8Array,
  { from, to }: { from: number; to: number },
): Declaration[] {
  const form =
    /^ {2}((?:(?:static|readonly|private|protected|public|override|async|get|set) )*\*?)(#?[\w$]+)/gm
  const starts = [...code.slice(from, to).matchAll(form)].filter(
    ({ index }) => depths[from + index] === 1,
  )
  return starts.map(({ index, 2: name = '' }, n) => ({
    name,
    from: from + index,
    to: from + (starts[n + 1]?.index ?? to - from),
  }))
}

/** How many brackets are open before each character. */
function depthsOf(code: string): Uint8Array {
  const depths = new Uint8Array(code.length)
  let depth = 0
  for (let at = 0; at < code.length; at += 1) {
    depths[at] = depth
    const character = code[at] ?? ''
    if ('([{'.includes(character)) depth += 1
    if (')]}'.includes(character)) depth -= 1
  }
  return depths
}

/** A comment, a string, or a regular expression if the character before allows one. */
const TEXT =
  /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?<=(?:^|[=(,:;!&|?{}[+>]|\breturn|\bcase)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y

/** The same length, with blanks for all that is no code; the code within a template stays. */
function withoutText(source: string): string {
  let code = ''
  /** For each template that we are in: how many braces are open in its `${`. */
  const templates: number[] = []
  const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ')
  const takeTemplate = (from: number): number => {
    let at = from
    while (at < source.length && source[at] !== '`' && !source.startsWith('${', at)) {
      at += source[at] === '\\' ? 2 : 1
    }
    const isCode = source[at] === '$'
    if (isCode) templates.push(0)
    return Math.min(at + (isCode ? 2 : 1), source.length)
  }
  for (let at = 0; at < source.length; ) {
    TEXT.lastIndex = at
    const text = TEXT.exec(source)?.[0]
    const open = templates.at(-1)
    let end = at + 1
    if (text !== undefined) end = at + text.length
    else if (source[at] === '`') end = takeTemplate(at + 1)
    else if (open === 0 && source[at] === '}') {
      templates.pop()
      end = takeTemplate(at + 1)
    } else {
      if (open !== undefined && source[at] === '{') templates.push((templates.pop() ?? 0) + 1)
      if (open !== undefined && source[at] === '}') templates.push((templates.pop() ?? 0) - 1)
      code += source[at]
      at = end
      continue
    }
    code += blank(source.slice(at, end))
    at = end
  }
  return code
}
