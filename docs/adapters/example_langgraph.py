"""An agent in LangGraph that remembers a user from one conversation to the next."""

from __future__ import annotations

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from episodica import MemorySystem
from episodica.adapters.langgraph import EpisodicaStore, memory_namespace, pre_model_hook, remember

# A scripted model; put your own here.
model = GenericFakeChatModel(
    messages=iter([AIMessage("Lyon is lovely!"), AIMessage("You live in Lyon.")])
)


class State(MessagesState):
    llm_input_messages: list[AnyMessage]


def answer(state: State) -> dict[str, list[AnyMessage]]:
    return {"messages": [model.invoke(state["llm_input_messages"])]}


memory = MemorySystem("memories")
store = EpisodicaStore(memory)  # was: InMemoryStore()
builder = StateGraph(State)
builder.add_node("recall", pre_model_hook(memory))
builder.add_node("answer", answer)
builder.add_node("remember", remember(memory))
builder.add_edge(START, "recall")
builder.add_edge("recall", "answer")
builder.add_edge("answer", "remember")
builder.add_edge("remember", END)
graph = builder.compile(store=store)

for thread, text in [("monday", "I moved to Lyon last week."), ("friday", "Where do I live?")]:
    config = {"configurable": {"user_id": "alice", "thread_id": thread}}
    state = graph.invoke({"messages": [HumanMessage(text)]}, config)
    prompt = state["llm_input_messages"][0]
    recalled = isinstance(prompt, SystemMessage) and "moved to Lyon" in str(prompt.content)
    print(f"{thread}: {state['messages'][-1].content} (recalled: {recalled})")

# Items of your own, found by meaning, still there after a restart.
store.put(("preferences", "alice"), "food", {"text": "Alice likes spicy noodles."})
store.put(("preferences", "alice"), "music", {"text": "Alice plays the cello."})
print(store.search(("preferences", "alice"), query="What does she like to eat?")[0].key)

# What the graph remembered, seen as items: episodes and facts.
memory.flush("alice")
memory.wait("alice")
found = store.search(memory_namespace("alice"), query="Where does she live?")
print(any("Lyon" in item.value["content"] for item in found))
memory.close()
