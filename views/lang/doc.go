// Package lang holds the words of the pages in every language they can be read in.
//
// English is the language the pages are written in: the English text is the message's id, so code reads
// as it speaks. Every other language has a folder of PO files here, one a part of the desk, in the form
// translators' tools read. A text that a catalogue lacks is shown in English; a test refuses such a gap,
// and one in the other direction.
//
// What the services say, and what stands on the trail, is English, since agents read it too. Said finds
// the translation of such a sentence by its form. Text of other people is never translated.
package lang
