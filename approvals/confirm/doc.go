// Package confirm brings "do you mean it" in front of a person. It keeps the questions that other
// servers ask about their calls and an agent forwards, reads their forms, takes a person's answer and
// hands it out once; and it seals and spends the state of the desk's own questions about destructive
// tools. It knows nothing of HTTP or pages.
package confirm
